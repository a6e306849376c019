"""The text that `vllm bench serve` prints of speculation: percents of two decimals beside whole totals."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from .json_source import refuse
from .log_text import plain
from .rounding import Rounded
from .source import Source

HEADING = b"-Speculative Decoding-"
COUNT = {
    "Drafts": re.compile(r"Drafts:\s+(\d{1,15})"),
    "Draft tokens": re.compile(r"Draft tokens:\s+(\d{1,15})"),
    "Accepted tokens": re.compile(r"Accepted tokens:\s+(\d{1,15})"),
}
POSITION = re.compile(r"Position (\d{1,2}):\s+(\d{1,3}(?:\.\d{1,9})?)")
BATCH = re.compile(r"Max(?:imum)? request concurrency:\s+(\d{1,9})")


@dataclass(slots=True)
class Printed:
    """One printed result, as far as it was read."""

    where: str
    batch: int | None
    counts: dict[str, int] = field(default_factory=dict)
    rates: list[Rounded] = field(default_factory=list)

    def _count(self, name: str) -> int:
        if name not in self.counts:
            refuse(f"{self.where}: {name}", "nothing", "a whole number would do")
        return self.counts[name]

    @property
    def rounds(self) -> int:
        """Rounds."""
        return self._count("Drafts")

    @property
    def drafted(self) -> int:
        """Draft tokens."""
        return self._count("Draft tokens")

    @property
    def accepted(self) -> int:
        """Accepted tokens."""
        return self._count("Accepted tokens")


def printed_results(source: Source) -> Iterator[Printed]:
    """The results of a text in their order.

    Raises
    ------
    InputError
        It has none, or positions do not follow each other.
    """
    batch: int | None = None
    current: Printed | None = None
    number = 0
    for line in source.lines():
        for text in plain(line):
            if found := BATCH.match(text):
                batch = int(found[1])
            if HEADING.decode() in text:
                if current is not None:
                    yield current
                number += 1
                current = Printed(f"result {number}", batch)
            elif text.startswith("====") and current is not None:
                yield current
                current = batch = None
            elif current is not None:
                _take(text, current)
    if current is not None:
        yield current
    if not number:
        refuse("text", "no result of speculation", "what vllm bench serve prints of a server that speculates would do")


def _take(text: str, current: Printed) -> None:
    for name, pattern in COUNT.items():
        if found := pattern.match(text):
            current.counts[name] = int(found[1])
    if found := POSITION.match(text):
        if int(found[1]) != len(current.rates):
            refuse(f"{current.where}: Position", found[1], f"{len(current.rates)} would do: each position once")
        current.rates.append(Rounded.of(found[2], 0.01))
