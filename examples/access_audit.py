"""An access audit: who could read a document then, which commit let them, and what is different now.

People are in groups, groups in other groups, and groups may read documents; rights come and go, one commit
each. A group is put into another by mistake and taken out again later, so that the graph of today shows
nothing. With history it does: a snapshot at the time of the incident has the path from the person to the
document, a stream of the past finds the commit that closed the path, and a difference shows all that this
commit changed. A stream with a name feeds a copy that goes on where it was after the database was closed.

Run it: ``python examples/access_audit.py``
"""

from __future__ import annotations

import argparse
import random
import tempfile
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import evergraph as eg

PERSON, SECRET = "person 0", "document 0"
# Nobody but the mistake puts the first group into the last.
MISTAKE = ("group 0", "group 9")

Edge = tuple[object, object]


class Result(NamedTuple):
    """What was found."""

    planted: int
    path: list[object]
    culprit: int
    opened: list[Edge]
    readable_now: bool
    copy: set[Edge]
    now: set[Edge]


def edges_of(table: eg.Table) -> list[Edge]:
    """Give the ends of a table's edges."""
    return list(zip(table["src"].to_list(), table["dst"].to_list(), strict=True))


def change_rights(db: eg.Database, changes: int, chance: random.Random) -> None:
    """Grant and revoke rights, one commit each, which never touch the planted path."""
    for _ in range(changes):
        person, group = f"person {chance.randrange(1, 40)}", f"group {chance.randrange(10)}"
        document = f"document {chance.randrange(1, 30)}"
        src, dst, edge_type = chance.choice([(person, group, "in"), (group, document, "may read")])
        if db.snapshot().has_edge(src, dst, edge_type):
            db.delete_edge(src, dst, edge_type)
        else:
            db.put_edge(src, dst, edge_type)


def follow(db: eg.Database, copy: set[Edge], batches: int | None = None) -> None:
    """Bring the copy up to date, or so many batches further."""
    with db.stream(name="copy", from_version=0, batch_size=20, timeout=0) as stream:
        for batch in stream:
            # Each table is in the order of commits; an edge put and deleted in one batch is in both.
            changes = [(version, True, edge) for version, edge in versions_of(batch.edges)]
            changes += [(version, False, edge) for version, edge in versions_of(batch.deleted)]
            for _, is_put, edge in sorted(changes, key=lambda change: (change[0], change[1])):
                if is_put:
                    copy.add(edge)
                else:
                    copy.discard(edge)
            stream.acknowledge()
            if batches is not None:
                batches -= 1
                if batches == 0:
                    break


def versions_of(table: eg.Table) -> list[tuple[int, Edge]]:
    """Give a batch's edges with the versions they came with."""
    versions = [version for version in table["version"].to_list() if isinstance(version, int)]
    return list(zip(versions, edges_of(table), strict=True))


def can_read(view: eg.Snapshot) -> bool:
    """Tell whether there is a path from the person to the document."""
    try:
        eg.shortest_path(view, PERSON, SECRET)
    except eg.NoPathError:
        return False
    return True


def find_culprit(db: eg.Database, incident: datetime) -> tuple[list[object], int]:
    """Give the path there was then, and the last commit before that made an edge of it."""
    then = db.snapshot(at=incident)
    path = list(eg.shortest_path(then, PERSON, SECRET))
    steps = set(pairwise(path))
    with db.stream(from_version=0, timeout=0) as stream:
        commits = [commit for batch in stream for commit in versions_of(batch.edges)]
    culprit = max(version for version, edge in commits if edge in steps and version <= then.version)
    return path, culprit


def run(directory: Path, changes: int, seed: int) -> Result:
    """Make a history, and look into it."""
    chance = random.Random(seed)
    copy: set[Edge] = set()
    with eg.open(directory / "rights.eg", retain="all") as db:
        db.put_edge(PERSON, MISTAKE[0], "in")
        db.put_edge(MISTAKE[1], SECRET, "may read")
        change_rights(db, changes, chance)
        planted = db.put_edge(*MISTAKE, "in")
        change_rights(db, changes, chance)
        incident = db.snapshot().time
        change_rights(db, changes, chance)
        db.delete_edge(*MISTAKE, "in")
        follow(db, copy, batches=2)
    with eg.open(directory / "rights.eg") as db:
        path, culprit = find_culprit(db, incident)
        change = eg.diff(db.snapshot(at=culprit - 1), db.snapshot(at=culprit))
        follow(db, copy)
        now = db.snapshot()
        return Result(
            planted, path, culprit, edges_of(change.added), can_read(now), copy, set(edges_of(now.edges()))
        )


def main() -> None:
    """Run it on data of a fixed seed, and tell what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = run(Path(directory), args.changes, args.seed)
    print("then:  ", " -> ".join(map(str, found.path)))
    print(f"opened by version {found.culprit}: {found.opened}")
    print("now:   ", "readable" if found.readable_now else "not readable")
    print(f"copy:   {len(found.copy)} edges, {'as' if found.copy == found.now else 'NOT as'} in the database")


if __name__ == "__main__":
    main()
