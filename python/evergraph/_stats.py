"""How a store is: its statistics, and what a check of its files found."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

from evergraph import _text


@dataclass(frozen=True, repr=False)
class Stats(_text.Shown):
    """What a store holds and how much room it takes; see `Database.stats`."""

    version: int
    """The number of the last commit."""
    num_vertices: int
    num_edges: int
    edge_types: dict[str, int]
    """Edges by type."""
    durability: str
    format: str
    """How neighbor lists are written: ``fast`` or ``compact``."""
    memory_bytes: int
    """Memory of the graph, without what is mapped from disk."""
    dictionary_bytes: int
    """Memory of the keys."""
    memory: dict[str, int]
    """Bytes in memory by purpose.

    These are ``vertex_table``, ``fragments``, ``columns``, ``retired`` (only older versions reach it),
    ``spare`` (freed, kept for the next commit), ``dictionary``, ``catalog``, ``turned_lists``, ``history``
    (versions of the past that are held, or were asked for last), ``segments`` (mapped from disk),
    ``older_segments`` (those only older versions reach) and ``log`` (of a graph without files).
    """
    allocator_bytes: int | None
    """What Evergraph takes of the memory of the process once it is ``settled``, without what is mapped.

    These are all parts of ``memory`` but the segments, of every open database, what results take, and what
    the allocator keeps free between blocks: each thread has pages of its own for each size, a few megabytes
    in all. ``None`` where the system does not tell.
    """
    log_bytes: int
    """The log, without the room made ahead for what comes next."""
    segments: int
    segment_bytes: int
    disk_bytes: int
    """All files of the store; 0 in memory."""
    disk: dict[str, int]
    """These by purpose.

    They are ``log``, ``log_room`` (made ahead for what comes next), ``segments``, ``history`` (what only
    versions of the past need), ``removed`` (merged away, but still reached by a snapshot that is held),
    ``under_way`` (of loads and archives) and ``other``.
    """
    write_amplification: float | None
    """How often what was archived since opening has been written to segments, merges counted in; ``None`` if
    nothing was."""
    settled: bool
    """Whether nothing is left to do in the background: archiving, merging, bringing lists together,
    giving memory back."""
    failure: str | None
    """Why the store takes no more commits, if one could not be made durable."""

    def __repr__(self) -> str:
        """Show one field a line."""
        width = max(len(field.name) for field in fields(self))
        lines = (
            f"  {field.name.ljust(width)}  {_shown(getattr(self, field.name))}" for field in fields(self)
        )
        return "\n".join(["Stats", *lines])

    def _parts(self) -> Iterable[str | _text.Grid]:
        rows = [[field.name, _shown(getattr(self, field.name))] for field in fields(self)]
        return ["Stats", (["what", "is"], [False, False], rows)]


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count:,}" for name, count in value.items()) or "none"
    return f"{value:,}" if type(value) is int else str(value)


class Problem(NamedTuple):
    """Something wrong with a file of a store."""

    path: Path
    """The file."""
    offset: int | None
    """Where in the file, in bytes from its start, if that can be said."""
    what: str
    """What is wrong."""

    def __str__(self) -> str:
        """Say it in one line."""
        place = "" if self.offset is None else f" at byte {self.offset}"
        return f"{self.path}{place}: {self.what}"


@dataclass(frozen=True, repr=False)
class CheckReport(_text.Shown):
    """What `check` found; true if all is well."""

    path: Path
    problems: list[Problem]
    version: int
    num_vertices: int
    num_edges: int
    segments: int
    segment_bytes: int
    log_records: int
    """Commits in the log that no segment has yet."""
    torn_bytes: int
    """Bytes at the end of the log that a crash left unfinished; they hold nothing that was acknowledged."""

    @property
    def is_healthy(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def __bool__(self) -> bool:
        """Tell whether there is no problem."""
        return self.is_healthy

    def __repr__(self) -> str:
        """Say what was checked, then every problem."""
        return "\n".join(self._parts())

    def _parts(self) -> list[str]:
        verdict = "healthy" if self.is_healthy else _text.count(len(self.problems), "problem")
        nouns = {"vertex": self.num_vertices, "edge": self.num_edges, "segment": self.segments}
        counts = [_text.count(number, noun) for noun, number in nouns.items()]
        counts.append(_text.count(self.log_records, "log record"))
        head = f"CheckReport({self.path}: {verdict}, version {self.version}, {', '.join(counts)})"
        return [head, *map(str, self.problems)]
