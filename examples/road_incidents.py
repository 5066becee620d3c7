"""Road incidents: sensors that slow down, the region they affect, and a way around it.

Regions of a town are views. A handler on each watches the speeds of its sensors; where one falls, the impact
region is what lies within a few roads of the slow sensors, and a detour is the shortest path on the town
without it.

Run it: ``python examples/road_incidents.py``
"""

from __future__ import annotations

import argparse
import random
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from picture import Picture

import evergraph as eg

SLOW = 20
"""Slower than this, in km/h, is an incident."""
SMALLEST = 5
"""In a smaller town the incident reaches from side to side."""


class Result(NamedTuple):
    """What was found."""

    slow: list[int]
    impact: set[int]
    usual: list[int]
    detour: list[int]
    told: dict[str, int]


def build(db: eg.Database, size: int, seed: int) -> None:
    """Put a town of ``size`` by ``size`` crossings, each with a sensor, and roads between them."""
    chance = random.Random(seed)
    db.create_edge_type("road", {"length": "float64"}, symmetric=True)
    with db.begin() as tx:
        for key in range(size * size):
            row, column = divmod(key, size)
            region = ("north" if row < size / 2 else "south") + (" west" if column < size / 2 else " east")
            tx.put_vertex(key, "Sensor", region=region, speed=50)
        for key in range(size * size):
            row, column = divmod(key, size)
            if column + 1 < size:
                tx.put_edge(key, key + 1, "road", length=1 + chance.random())
            if row + 1 < size:
                tx.put_edge(key, key + size, "road", length=1 + chance.random())


def run(size: int = 24, seed: int = 1, picture: Path | None = None) -> Result:
    """Have an incident in the middle of the town, and find the way around it."""
    if size < SMALLEST:
        message = f"a town of {size} by {size} crossings has no way around an incident: {SMALLEST} at least"
        raise ValueError(message)
    db = eg.open()
    build(db, size, seed)
    names = ["north west", "north east", "south west", "south east"]
    slow: list[int] = []
    told = dict.fromkeys(names, 0)
    subscriptions = []
    for name in names:
        region = db.create_view(name, where=f"region = '{name}'")

        def watch(event: eg.Event, name: str = name) -> None:
            told[name] += 1
            if event.new < SLOW:
                slow.append(event.vertex)

        subscriptions.append(
            region.on_update(watch, name="incidents", kinds={"property"}, properties=["speed"])
        )
    start, goal = size // 2 * size, size // 2 * size + size - 1
    town = db.create_view("town", where="type = 'Sensor'")
    usual = list(eg.shortest_path(town, start, goal, weight="length"))
    middle = usual[len(usual) // 2]
    chance = random.Random(seed)
    with db.begin() as tx:
        for _ in range(size):
            tx.put_vertex(chance.randrange(size * size), speed=40)
    with db.begin() as tx:
        for key in [middle, *db.snapshot().out_neighbors(middle)]:
            tx.put_vertex(key, speed=chance.randrange(SLOW))
    for subscription in subscriptions:
        subscription.wait(db.snapshot().version)
    impact = db.create_view("impact", vertices=slow).expand(size // 8)
    detour = list(eg.shortest_path(town - impact, start, goal, weight="length"))
    result = Result(sorted(slow), set(impact), usual, detour, told)
    if picture is not None:
        draw(db.snapshot(), size, result, picture)
    db.close()
    return result


def draw(view: eg.Snapshot, size: int, result: Result, path: Path) -> None:
    """Draw the town, the impact region and both ways."""
    picture = Picture("An incident, the region it affects, and the way around it")

    def at(key: int) -> tuple[float, float]:
        row, column = divmod(key, size)
        return column / (size - 1), row / (size - 1)

    roads = view.edges()
    for src, dst in zip(roads["src"].to_list(), roads["dst"].to_list(), strict=True):
        picture.line(at(src), at(dst), "#dddddd", 1)
    for key in sorted(result.impact):
        picture.dot(at(key), "#f4b183", 5, "affected")
    for way, color, label in [(result.usual, "#8faadc", "usual way"), (result.detour, "#2e75b6", "detour")]:
        for src, dst in pairwise(way):
            picture.line(at(src), at(dst), color, 3, label)
    for key in result.slow:
        picture.dot(at(key), "#c00000", 5, "slow sensors")
    picture.write(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path, default=Path("road_incidents.svg"))
    given = parser.parse_args()
    try:
        found = run(given.size, given.seed, given.picture)
    except ValueError as error:
        parser.error(str(error))
    print(f"slow sensors: {found.slow}; {len(found.impact)} crossings affected")
    print(f"usual way: {len(found.usual)} crossings; detour: {len(found.detour)}; see {given.picture}")
