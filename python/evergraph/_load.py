"""What a load, or a batch of edges, did."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evergraph import _native, _text
from evergraph._listed import table_of
from evergraph._table import Table, Tabular


class Reject(NamedTuple):
    """A line of a file that is no edge."""

    line: int
    """The line, from 1."""
    column: int
    """The byte in the line where the trouble starts, from 1."""
    reason: str
    """What is wrong."""
    text: str
    """The start of the line."""


class Rejects(list[Reject], Tabular):
    """The lines left out of a load: a list with a table underneath."""

    @property
    def table(self) -> Table:
        """The columns ``line``, ``column``, ``reason`` and ``text``."""
        return table_of({"line": int, "column": int, "reason": str, "text": str}, self)

    def __repr__(self) -> str:
        """Show the first and last ones."""
        return _text.as_text(*self.table.shown())

    def _parts(self) -> Iterable[str | _text.Grid]:
        return [self.table.shown()]


@dataclass(frozen=True)
class LoadResult(_text.Shown):
    """What `Database.load` did."""

    path: Path
    """The file."""
    edges: int
    """Edges that are new; a line that repeats an edge of a simple type is not one."""
    vertices: int
    """Vertices that are new."""
    lines: int
    """Lines of the file, comments, header and blank ones included."""
    resumed_lines: int
    """Of these, the ones that an earlier load had read, which this one went on from."""
    rejected: int
    """Lines left out because of ``on_error="skip"``."""
    rejects: Rejects
    """The first of them."""
    seconds: float
    """How long it took."""
    version: int
    """The version that has the edges."""

    @classmethod
    def of(cls, path: Path, report: _native.LoadReport) -> LoadResult:
        """Give a native report its face."""
        return cls(
            path=path,
            edges=report.edges,
            vertices=report.vertices,
            lines=report.lines,
            resumed_lines=report.resumed_lines,
            rejected=report.rejected,
            rejects=Rejects(Reject(*reject) for reject in report.rejects),
            seconds=report.seconds,
            version=report.version,
        )

    def _headline(self) -> str:
        rejected = f", {self.rejected:,} rejected" if self.rejected else ""
        return (
            f"LoadResult({self.path.name}: {_text.count(self.edges, 'edge')}, "
            f"{_text.count(self.vertices, 'vertex')}{rejected}, {self.seconds:.3g} s)"
        )

    def __repr__(self) -> str:
        """Say it in one line, and show the rejects if there are any."""
        return f"{self._headline()}\n{self.rejects!r}" if self.rejects else self._headline()

    def _parts(self) -> Iterable[str | _text.Grid]:
        return [self._headline(), *(self.rejects._parts() if self.rejects else ())]


class BatchResult(NamedTuple):
    """What `Database.add_edges` or `Database.delete_edges` did."""

    edges: int
    """Edges that are new, or gone."""
    vertices: int
    """Vertices that are new."""
    version: int
    """The version that has the change."""
