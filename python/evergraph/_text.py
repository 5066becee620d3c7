"""Tables as text and as HTML, for the eyes: a few rows, columns aligned, long values cut."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from html import escape
from typing import TypeAlias
from unicodedata import combining, east_asian_width

from evergraph._types import Value

Grid: TypeAlias = tuple[Sequence[str], Sequence[bool], Sequence[Sequence[str]]]
"""The names of some columns, which of them are numbers, and the cells by row."""

SHOWN_ROWS = 10
"""Tables with more rows show the first and the last of these."""
CELL_CHARS = 40
MESSAGE_CHARS = 80
"""How much of a value a message shows: enough to know it again."""
GAP = "…"


def quoted(value: object) -> str:
    """Write a value for a message: all of it, or the start."""
    text = repr(value)
    return text if len(text) <= MESSAGE_CHARS else text[:MESSAGE_CHARS] + GAP


def cell(value: Value) -> str:
    """One value, short."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    text = str(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= CELL_CHARS else text[: CELL_CHARS - 1] + GAP


def shown(rows: int) -> list[int | None]:
    """The rows to show of so many; ``None`` stands for those left out."""
    if rows <= SHOWN_ROWS:
        return list(range(rows))
    half = SHOWN_ROWS // 2
    return [*range(half), None, *range(rows - half, rows)]


def width(text: str) -> int:
    """The columns of a terminal that a text takes.

    >>> width("tokyo"), width("東京")
    (5, 4)
    """
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in text)


def as_text(names: Sequence[str], numeric: Sequence[bool], cells: Sequence[Sequence[str]]) -> str:
    """Columns side by side, numbers to the right."""
    widths = [max(width(name), *(width(row[at]) for row in cells), 1) for at, name in enumerate(names)]

    def padded(text: str, to: int, right: bool) -> str:
        blanks = " " * (to - width(text))
        return blanks + text if right else text + blanks

    def line(row: Sequence[str]) -> str:
        return "  ".join(map(padded, row, widths, numeric)).rstrip()

    return "\n".join([line(names), "  ".join("-" * to for to in widths), *map(line, cells)])


def as_html(names: Sequence[str], numeric: Sequence[bool], cells: Sequence[Sequence[str]]) -> str:
    """The same as an HTML table."""

    def row(tag: str, texts: Sequence[str]) -> str:
        columns = (
            f'<{tag} style="text-align: {"right" if right else "left"}">{escape(text)}</{tag}>'
            for text, right in zip(texts, numeric, strict=True)
        )
        return f"<tr>{''.join(columns)}</tr>"

    body = "".join(row("td", texts) for texts in cells)
    return f"<table><thead>{row('th', names)}</thead><tbody>{body}</tbody></table>"


def count(number: int, noun: str) -> str:
    """Write "1 row", "2 rows", "1,000 vertices"."""
    plural = noun[:-2] + "ices" if noun.endswith("ex") else noun + "s"
    return f"{number:,} {noun if number == 1 else plural}"


def counts(what: str, numbers: Mapping[str, int]) -> Grid:
    """A table of two columns: names, and how much there is of each."""
    return [what, "count"], [False, True], [[name, f"{number:,}"] for name, number in numbers.items()]


class Shown:
    """What notebooks show as lines and tables. All text in them is escaped, here and in `as_html`."""

    __slots__ = ()

    def _parts(self) -> Iterable[str | Grid]:
        """Give the lines and the tables, from top to bottom."""
        return [repr(self)]

    def _repr_html_(self) -> str:
        return "".join(
            f"<p>{escape(part)}</p>" if isinstance(part, str) else as_html(*part) for part in self._parts()
        )
