"""Network intrusion: from authentication events to the machines that an intruder may have reached.

One machine is known to be infected from some time on. The logins since then are a view by a predicate of
edges; what is reachable in it, going forward in time only, may be infected, and the logins say how.

Run it: ``python examples/network_intrusion.py``
"""

from __future__ import annotations

import argparse
import math
import random
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from picture import Picture

import evergraph as eg

START = datetime(2024, 5, 1, 8, tzinfo=timezone.utc)
HOUR = timedelta(hours=1)


class Result(NamedTuple):
    """What was found."""

    patient_zero: str
    planted: list[str]
    suspects: dict[str, datetime]
    path: list[str]
    logins: int
    in_window: int


def build(db: eg.Database, machines: int, logins: int, seed: int) -> list[str]:
    """Put a day of logins between machines, an attack among them; give the machines on its way."""
    chance = random.Random(seed)
    names = [f"host{number:03}" for number in range(machines)]
    src, dst, at = [], [], []
    for _ in range(logins):
        # Most logins stay within a department of ten machines.
        first = chance.randrange(machines)
        near = first // 10 * 10 + chance.randrange(10)
        second = near if chance.random() < 0.98 else chance.randrange(machines)
        if first != second and second < machines:
            src.append(names[first])
            dst.append(names[second])
            at.append(START + HOUR * 24 * chance.random())
    way = [names[0], names[min(37, machines - 3)], names[machines // 2], names[machines - 1]]
    for number, (first, second) in enumerate(pairwise(way)):
        src.append(first)
        dst.append(second)
        at.append(START + HOUR * 20 + timedelta(minutes=10 * number))
    db.create_edge_type("login", {"at": "timestamp"}, multi=True, time="at")
    db.add_edges(src, dst, "login", at=at)
    return way


def run(machines: int = 120, logins: int = 400, seed: int = 1, picture: Path | None = None) -> Result:
    """Find what the first machine may have infected within two hours."""
    db = eg.open()
    planted = build(db, machines, logins, seed)
    since, until = START + HOUR * 20, START + HOUR * 22
    window = db.create_view(
        "window",
        edges_where=f"at >= timestamp '{since.isoformat()}' and at < timestamp '{until.isoformat()}'",
    )
    view = window.at()
    patient_zero = planted[0]
    # Only what is reachable at all can be reachable in time.
    reachable = set(eg.bfs(view, patient_zero))
    table = (window & sorted(reachable)).edges()
    events = sorted(zip(table["at"].to_list(), table["src"].to_list(), table["dst"].to_list(), strict=True))
    suspects, before = {patient_zero: since}, {}
    for at, src, dst in events:
        if src in suspects and suspects[src] <= at and dst not in suspects:
            suspects[dst] = at
            before[dst] = src
    path = [planted[-1]]
    while path[-1] in before:
        path.append(before[path[-1]])
    result = Result(patient_zero, planted, suspects, path[::-1], db.snapshot().num_edges, view.num_edges)
    if picture is not None:
        draw(view, machines, result, picture)
    db.close()
    return result


def draw(view: eg.Snapshot, machines: int, result: Result, path: Path) -> None:
    """Draw the machines on a circle, with the logins of the window."""
    picture = Picture("Machines that may be infected, and how the last one was reached", height=640)

    def at(name: str) -> tuple[float, float]:
        angle = 2 * math.pi * int(name[4:]) / machines
        return 0.5 + 0.48 * math.cos(angle), 0.5 + 0.48 * math.sin(angle)

    logins = view.edges()
    for src, dst in zip(logins["src"].to_list(), logins["dst"].to_list(), strict=True):
        picture.line(at(src), at(dst), "#cccccc", 1, "login in the window")
    for src, dst in pairwise(result.path):
        picture.line(at(src), at(dst), "#c00000", 3, "possible infection path")
    for number in range(machines):
        name = f"host{number:03}"
        if name in result.suspects:
            picture.dot(at(name), "#c00000", 5)
        else:
            picture.dot(at(name), "#2e75b6", 3, "machine")
    picture.write(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machines", type=int, default=120)
    parser.add_argument("--logins", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path, default=Path("network_intrusion.svg"))
    given = parser.parse_args()
    found = run(given.machines, given.logins, given.seed, given.picture)
    print(f"{found.in_window} of {found.logins} logins are in the window")
    print(f"{len(found.suspects)} machines may be infected")
    print(f"the way to {found.path[-1]}: {' -> '.join(found.path)}; see {given.picture}")
