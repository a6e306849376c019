# Two commands do everything: `make reanalyze` (the main job) and `make test`.
OUT ?= out
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready-runtime
TEST_READY := $(VENV)/.ready-test

.PHONY: reanalyze test test-slow test-page gallery lint types wheel benchmarks clean

reanalyze: $(READY)
	@for study in sp2 gx10; do \
		$(BIN)/draftdepth reanalyze $$study --out-dir "$(OUT)/$$study" || exit $$?; \
	done
	@echo "all results lie in $(OUT)/"

test: $(TEST_READY)
	@$(BIN)/python -m pytest

test-slow: $(TEST_READY)
	@start=$$(date +%s); $(BIN)/python -m pytest -m slow; status=$$?; \
	echo "slow statistics took $$(( $$(date +%s) - start )) s"; exit $$status

test-page: $(TEST_READY)
	@$(BIN)/python -m pytest -m browser -rs tests/page/test_browser.py

gallery: reanalyze
	@$(BIN)/python -m draftdepth.reports.figure_gallery "$(OUT)/sp2/posterior.nc" "$(OUT)/gx10/posterior.nc"

lint: $(TEST_READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(TEST_READY)
	@$(BIN)/mypy

wheel: $(TEST_READY)
	@$(BIN)/python .ci/check_wheel.py

benchmarks: $(TEST_READY)
	@for one in screen documents sampling; do $(BIN)/python benchmarks/$$one.py || exit $$?; done

$(READY): constraints.txt pyproject.toml .ci/setup
	@sh .ci/setup "$(VENV)" "."
	@touch $@

$(TEST_READY): $(READY)
	@sh .ci/setup "$(VENV)" ".[test]"
	@touch $@

clean:
	@rm -rf "$(VENV)" "$(OUT)"
