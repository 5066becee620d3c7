"""Fraud rings: accounts that pay each other in circles within a few hours.

Large payments of the last hours are a view by a predicate of edges. Its strongly connected components with
three accounts and more are rings: from each account money can come back to it. A handler notes with exactly
once, in the same store, how often each account paid a large sum, whatever fails on the way.

Run it: ``python examples/fraud_rings.py``
"""

from __future__ import annotations

import argparse
import math
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

from picture import Picture

import evergraph as eg

NOW = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)
LARGE = 5000.0


class Result(NamedTuple):
    """What was found."""

    planted: list[set[int]]
    rings: list[set[int]]
    payments: int
    in_window: int
    totals: dict[int, int]
    expected: dict[int, int]


def build(
    db: eg.Database, accounts: int, payments: int, rings: int, seed: int
) -> tuple[list[set[int]], dict[int, int]]:
    """Put a week of payments with rings among them; give the rings, and how often each paid a large sum."""
    chance = random.Random(seed)
    rows = []
    for _ in range(payments):
        amount = chance.choice([20.0, 50.0, 300.0, 7000.0 if chance.random() < 0.02 else 80.0])
        # Large sums go from accounts of small numbers to those of larger ones, as from buyers to sellers.
        src, dst = sorted(chance.sample(range(accounts), 2))
        rows.append((src, dst, amount, NOW - timedelta(hours=168 * chance.random())))
    planted = []
    for _ in range(rings):
        ring = chance.sample(range(accounts), chance.randrange(3, 6))
        planted.append(set(ring))
        for src, dst in zip(ring, ring[1:] + ring[:1], strict=True):
            rows.append(
                (src, dst, LARGE + chance.randrange(1000), NOW - timedelta(hours=5 * chance.random()))
            )
    totals: dict[int, int] = {}
    for start in range(0, len(rows), 50):
        part = rows[start : start + 50]
        src, dst, amount, at = (list(column) for column in zip(*part, strict=True))
        db.add_edges(src, dst, "pays", amount=amount, at=at)
    for src, _, amount, _ in rows:
        if amount >= LARGE:
            totals[src] = totals.get(src, 0) + 1
    return planted, totals


def run(
    accounts: int = 300, payments: int = 2000, rings: int = 3, seed: int = 1, picture: Path | None = None
) -> Result:
    """Find the rings of the last six hours."""
    db = eg.open()
    db.create_edge_type("pays", {"amount": "float64", "at": "timestamp"}, multi=True, time="at")
    with db.begin() as tx:
        for key in range(accounts):
            tx.put_vertex(key, "Account", large=0)
    large = db.create_view("large", where="type = 'Account'", edges_where=f"amount >= {LARGE}")
    calls = []

    def note(events: list[eg.Event], tx: eg.Transaction) -> None:
        calls.append(len(events))
        for event in events:
            src, _, _ = event.edge
            tx.put_vertex(src, large=tx.vertex(src)["large"] + 1)
        if len(calls) == 2:
            message = "fails once, after writing"
            raise RuntimeError(message)

    noting = large.on_update(note, name="totals", kinds={"edge"}, exactly_once=True, batch_size=64)
    planted, expected = build(db, accounts, payments, rings, seed)
    noting.wait(db.snapshot().version)
    since = NOW - timedelta(hours=6)
    recent = db.create_view(
        "recent", edges_where=f"amount >= {LARGE} and at >= timestamp '{since.isoformat()}'"
    )
    view = recent.at()
    found: dict[int, set[int]] = {}
    for vertex, component in eg.strongly_connected_components(view).items():
        found.setdefault(component, set()).add(vertex)
    circles = sorted((ring for ring in found.values() if len(ring) >= 3), key=sorted)
    totals = {key: db.snapshot().vertex(key)["large"] for key in expected}
    result = Result(planted, circles, db.snapshot().num_edges, view.num_edges, totals, expected)
    if picture is not None:
        draw(view, accounts, result, picture)
    db.close()
    return result


def draw(view: eg.Snapshot, accounts: int, result: Result, path: Path) -> None:
    """Draw the accounts on a circle, with the large payments of the window."""
    picture = Picture("Large payments of six hours, and the rings among them", height=640)
    ring_of = {key: number for number, ring in enumerate(result.rings) for key in ring}
    colors = ["#c00000", "#2e75b6", "#548235", "#7030a0", "#bf8f00"]

    def at(key: int) -> tuple[float, float]:
        angle = 2 * math.pi * key / accounts
        return 0.5 + 0.48 * math.cos(angle), 0.5 + 0.48 * math.sin(angle)

    payments = view.edges()
    for src, dst in zip(payments["src"].to_list(), payments["dst"].to_list(), strict=True):
        ring = ring_of.get(src)
        inside = ring is not None and ring == ring_of.get(dst)
        color = colors[ring % len(colors)] if inside and ring is not None else "#bbbbbb"
        picture.line(at(src), at(dst), color, 2.5 if inside else 1, None if inside else "payment")
    for key, ring in ring_of.items():
        picture.dot(at(key), colors[ring % len(colors)], 5, f"ring {ring + 1}")
    picture.write(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accounts", type=int, default=300)
    parser.add_argument("--payments", type=int, default=2000)
    parser.add_argument("--rings", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", type=Path, default=Path("fraud_rings.svg"))
    given = parser.parse_args()
    found = run(given.accounts, given.payments, given.rings, given.seed, given.picture)
    print(f"{found.in_window} of {found.payments} payments are large and recent; {len(found.rings)} rings:")
    for ring in found.rings:
        print(f"  {sorted(ring)}")
    print(f"see {given.picture}")
