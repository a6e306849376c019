"""A page read back: its numbers, its tables, its ids, by the standard library's parser."""

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "wbr", "img", "input", "hr"}


@dataclass
class Read:
    """What stands in a page."""

    numbers: list[tuple[str, str, str]] = field(default_factory=list)  # value, place, text
    ids: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    tables: dict[str, list[list[str]]] = field(default_factory=dict)
    headings: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.read = Read()
        self.open: list[str] = []
        self.region = ""
        self.data: list[str] | None = None
        self.held: dict[str, str | None] = {}
        self.cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.read.tags.append((tag, told))
        if tag not in VOID:
            self.open.append(tag)
        if told.get("id"):
            self.read.ids.append(str(told["id"]))
        if tag == "a" and (told.get("href") or "").startswith("#"):
            self.read.targets.append(str(told["href"])[1:])
        if told.get("role") == "region":
            self.region = str(told["aria-label"])
        if tag == "data":
            self.data, self.held = [], told
        if tag == "tr" and self.region:
            self.read.tables.setdefault(self.region, []).append([])
        if tag in {"td", "th"} and self.region:
            self.cell = []
        if tag in {"h1", "h2", "h3", "h4"}:
            self.read.headings.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass
        if tag == "data" and self.data is not None:
            self.read.numbers.append((str(self.held["value"]), str(self.held["data-at"]), "".join(self.data)))
            self.data = None
        if tag in {"td", "th"} and self.cell is not None:
            self.read.tables[self.region][-1].append(" ".join("".join(self.cell).split()))
            self.cell = None
        if tag == "table":
            self.region = ""

    def handle_data(self, data: str) -> None:
        if self.data is not None:
            self.data.append(data)
        if self.cell is not None:
            self.cell.append(data)
        if not {"script", "style", "svg"} & set(self.open):
            self.read.text.append(data)


def read_page(html: str) -> Read:
    """Parse a page."""
    parser = _Parser()
    parser.feed(html)
    return parser.read


def places_of(html: str) -> dict[str, str]:
    """Arrays and documents by the short names that the page gives them."""
    start = html.index('id="places">') + len('id="places">')
    told = json.loads(html[start : html.index("</script>", start)])
    return {short: name for name, short in told.items()}


def table_of(page: Read, name: str) -> list[dict[str, str]]:
    """Rows of a table of the page, by its heads."""
    head, *rows = page.tables[name]
    return [dict(zip(head, row, strict=True)) for row in rows]


def markdown_tables(text: str) -> list[list[list[str]]]:
    """Tables of a Markdown page: rows of entries, the head first and the line below it left out."""
    found: list[list[list[str]]] = []
    inside = False
    for line in text.splitlines():
        if not line.startswith("|"):
            inside = False
            continue
        if not inside:
            found.append([])
        inside = True
        if not line.startswith("| :--"):
            found[-1].append([entry.strip() for entry in line.strip("|").split("|")])
    return found
