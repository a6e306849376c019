"""Names as they can be shown: on a page, on a terminal, in JSON and in a spreadsheet."""

UNSEEN = "\ufffd"
FORMULA = "=+-@＝＋－＠"
"""What a spreadsheet takes for a formula at the start of a cell."""


def visible(text: object) -> str:
    """One line without control codes, direction marks and lone surrogates: each becomes U+FFFD."""
    return "".join(char if char.isprintable() else UNSEEN for char in str(text))


def visible_json(text: str) -> str:
    """JSON of the same value in which what cannot be shown is escaped; line ends between tokens stay."""

    def escape(char: str) -> str:
        units = char.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))

    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char == "\n" or char.isprintable() else escape(char) for char in text)


def spreadsheet_text(value: object) -> object:
    """A text that no spreadsheet runs: visible, and with an apostrophe before what would be a formula."""
    if not isinstance(value, str):
        return value
    shown = visible(value)
    return f"'{shown}" if shown.lstrip().startswith(tuple(FORMULA)) else shown
