"""The page in a real browser: no request, no error, no overflow, enough contrast, filters and sorting, print."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from draftdepth.reports.page_files import report_files

from .browser import Browser, missing
from .made_up import shared_tree

pytestmark = [pytest.mark.browser, pytest.mark.skipif(bool(missing()), reason=missing() or "a browser is there")]

CONTRAST = """
const channel = v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; };
const rgb = text => (text.match(/[\\d.]+/g) || []).map(Number);
const light = c => .2126 * channel(c[0]) + .7152 * channel(c[1]) + .0722 * channel(c[2]);
const behind = node => { for (; node; node = node.parentElement) { const c = rgb(getComputedStyle(node).backgroundColor);
  if (c.length === 3 || c[3] > 0) return c; } return rgb(getComputedStyle(document.body).backgroundColor); };
document.querySelectorAll('details').forEach(d => d.open = true);
const bad = [];
document.querySelectorAll('body *').forEach(node => {
  const own = Array.from(node.childNodes).some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || ['SCRIPT', 'STYLE'].includes(node.tagName) || !node.getClientRects().length) return;
  if (node.closest('.skip')) return;
  const style = getComputedStyle(node), ink = rgb(node.ownerSVGElement ? style.fill : style.color);
  const a = light(ink), b = light(behind(node)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) bad.push(node.tagName + ' ' + node.textContent.trim().slice(0, 30) + ' ' + ratio.toFixed(2));
});
return bad;
"""
OVERFLOW = """
document.querySelectorAll('details').forEach(d => d.open = true);
return document.documentElement.scrollWidth - document.documentElement.clientWidth;
"""
BROKEN = """
const bad = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
for (let node = walk.nextNode(); node; node = walk.nextNode()) {
  for (const found of node.data.matchAll(/\\d[\\u0020\\u00a0](%|tok\\/s)/g)) {
    range.setStart(node, found.index); range.setEnd(node, found.index + found[0].length);
    if (new Set(Array.from(range.getClientRects()).map(r => Math.round(r.top))).size > 1) bad.push(node.data.slice(0, 60));
  }
}
return bad;
"""
CUT = """
document.querySelectorAll('#advice tbody th a').forEach(a => a.textContent = arguments[0]);
const region = document.querySelector('#advice').closest('.scroll');
return region.scrollWidth - region.clientWidth;
"""
COLUMN = """
const [region, column] = arguments;
return Array.from(document.querySelectorAll('[role=region]')).find(r => r.ariaLabel === region)
  .querySelector('tbody').rows.length && Array.from(Array.from(document.querySelectorAll('[role=region]'))
  .find(r => r.ariaLabel === region).querySelector('tbody').rows).map(row => row.cells[column].textContent.trim());
"""
CLICK = """
const [region, column] = arguments;
Array.from(document.querySelectorAll('[role=region]')).find(r => r.ariaLabel === region)
  .querySelectorAll('thead th')[column].querySelector('button').click();
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(str(report_files(shared_tree())["report.html"]), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_no_request_no_error_no_overflow_and_enough_contrast(
    browser: Browser, page: str, width: int, dark: bool
) -> None:
    browser.console(), browser.requested()
    browser.open(page, width, dark)
    assert browser.run("return innerWidth") == width
    assert browser.run(OVERFLOW) <= 0
    assert browser.run(CONTRAST) == []
    assert browser.console() == []
    assert [url for url in browser.requested() if not url.startswith("data:")] == [page]


def test_the_checks_would_see_a_request_a_pale_word_and_a_broad_line(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<body style='background:#fff'><p style='color:#aaa'>pale</p><p style='width:3000px'>broad</p>"
        "<img src='gone.png'><script>console.error('said')</script>",
        encoding="utf-8",
    )
    browser.console(), browser.requested()
    browser.open(bad.as_uri(), 390)
    assert browser.run(OVERFLOW) > 0
    assert len(browser.run(CONTRAST)) == 1
    assert any("said" in line for line in browser.console())
    assert any(url.endswith("gone.png") for url in browser.requested())


@pytest.mark.parametrize("width", [320, 390, 700, 1400])
def test_no_line_ends_between_a_number_and_its_unit(browser: Browser, page: str, width: int) -> None:
    browser.open(page, width)
    browser.run(OVERFLOW)  # opens all details
    assert browser.run(BROKEN) == []


def test_the_check_would_see_a_broken_unit(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "broken.html"
    bad.write_text("<meta charset=utf-8><p style='width:1.5em'>not above 90 % here</p>", encoding="utf-8")
    browser.open(bad.as_uri(), 390)
    assert len(browser.run(BROKEN)) == 1


def test_the_overview_fits_a_desk_with_long_names(browser: Browser, page: str) -> None:
    browser.open(page, 1400)
    assert browser.run(CUT, "long-context-retrieval-abliterated/c8") <= 0
    assert browser.run(CUT, "x" * 400) <= 0
    browser.open(page, 390)
    assert browser.run(CUT, "long-context-retrieval-abliterated/c8") > 0  # a phone scrolls sideways


def test_sorting_goes_up_and_down_by_number_with_missing_ones_last(browser: Browser, page: str) -> None:
    browser.open(page, 1400)
    region = "Gains by depth of S/c"
    column = 8  # expected loss
    before = browser.run(COLUMN, region, column)
    browser.run(CLICK, region, column)
    up = [float(text) for text in browser.run(COLUMN, region, column)]
    assert up == sorted(float(text) for text in before)
    browser.run(CLICK, region, column)
    assert [float(text) for text in browser.run(COLUMN, region, column)] == up[::-1]
    browser.run(CLICK, region, 4)
    assert browser.run(COLUMN, region, 4)[-1] == "–"
    browser.run(CLICK, region, 4)
    assert browser.run(COLUMN, region, 4)[-1] == "–"


def test_the_filter_shows_what_was_asked_for_and_says_how_many(browser: Browser, page: str) -> None:
    browser.open(page, 1400)
    seen = "return Array.from(document.querySelectorAll('details.cell')).map(d => !d.hidden)"
    assert browser.run(seen) == [True, True]
    choose = """
    const select = document.querySelector('#filter select[name=batch]');
    select.value = arguments[0]; select.dispatchEvent(new Event('change'));"""
    browser.run(choose, "2")
    assert browser.run(seen) == [False, True]
    assert browser.run("return document.getElementById('shown').textContent") == "1 of 2 cells shown"
    browser.run(choose, "")
    assert browser.run(seen) == [True, True]


def test_the_keyboard_reaches_links_tables_and_sorting(browser: Browser, page: str) -> None:
    browser.open(page, 1400)
    reachable = """
    const can = n => { n.focus(); return document.activeElement === n; };
    return ['nav a', '.scroll', 'thead button', 'summary', '#filter select'].map(s => can(document.querySelector(s)));"""
    assert browser.run(reachable) == [True] * 5


def test_without_javascript_everything_is_there_and_no_dead_form_shows(browser: Browser, page: str) -> None:
    browser.open(page, 390, script=False)
    assert browser.run("return document.querySelectorAll('thead button').length") == 0
    assert browser.run("return getComputedStyle(document.getElementById('filter')).display") == "none"
    assert browser.run("return document.querySelectorAll('data').length") > 500
    browser.open(page, 390)


def test_files_of_figures_show_all_that_is_drawn(browser: Browser, tmp_path: Path) -> None:
    """A viewer cuts off what lies outside an inner drawing's own frame."""
    cut = """
    const whole = document.documentElement.getBoundingClientRect(), bad = [];
    const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
    document.querySelectorAll('svg svg').forEach(part => {
      const scale = part.getScreenCTM(), box = part.viewBox.baseVal;
      const frame = { left: whole.left, right: whole.right, top: whole.top, bottom: whole.bottom };
      const drawn = { left: scale.e, right: scale.e + scale.a * box.width, top: scale.f, bottom: scale.f + scale.d * box.height };
      if (!inside(drawn, frame)) bad.push(JSON.stringify([drawn, frame]));
    });
    document.querySelectorAll('text').forEach(text => {
      if (!inside(text.getBoundingClientRect(), whole)) bad.push(text.textContent);
    });
    return [document.querySelectorAll('svg svg').length, bad];"""
    seen = 0
    for name, text in report_files(shared_tree()).items():
        if name.endswith(".svg"):
            path = tmp_path / Path(name).name
            path.write_text(str(text), encoding="utf-8")
            browser.open(path.as_uri(), 1400)
            assert browser.run(cut) == [2, []], name
            seen += 1
    assert seen == 6


def test_nothing_is_cut_off_at_the_right_of_a_printed_sheet(browser: Browser, page: str) -> None:
    """A4 less the browser's own margins is 718 pixels; tables do not scroll on paper."""
    browser.open(page, 718)
    browser.devtools("Emulation.setEmulatedMedia", media="print")
    assert browser.run(OVERFLOW) <= 0
    browser.run(CUT, "long-context-retrieval-abliterated/c8")
    assert browser.run(OVERFLOW) <= 0
    browser.devtools("Emulation.setEmulatedMedia", media="screen")


def test_it_prints(browser: Browser, page: str) -> None:
    browser.open(page, 1400)
    made = browser.pdf()
    assert made.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", made))
    assert 2 <= pages <= 40
