"""An algorithm of one's own: how much money can reach each account from one of them along a single chain.

A chain of payments passes on no more than its smallest payment. The most that any chain brings to an account
is found by steps along the edges: whoever has gained something passes it on, until nobody gains any more.

Run it: ``python examples/own_algorithm.py``
"""

from __future__ import annotations

import argparse
import random
from typing import Any, NamedTuple

import numpy as np

import evergraph as eg


class Result(NamedTuple):
    """What was found."""

    most: dict[eg.Key, float]
    """The most that a chain of payments brings to each account it reaches."""
    steps: int
    """How many times the gains were passed on."""
    rich: eg.VertexSubset
    """The accounts that get at least half of the largest payment."""


def widest_paths(view: eg.Snapshot, source: eg.Key, weight: str) -> tuple[np.ndarray[Any, Any], int]:
    """Find the largest least weight of a path to each vertex, by row, and the steps it took."""
    most = np.zeros(len(view))
    frontier = eg.VertexSubset(view, source)
    most[frontier.rows] = np.inf

    def widen(src: Any, dst: Any, weights: Any) -> Any:
        before, passes = most[dst], np.minimum(most[src], weights)
        np.maximum.at(most, dst, passes)
        return passes > before

    steps = 0
    while frontier:
        # The next frontier are those that gained something.
        frontier = eg.edge_map(view, frontier, widen, weight=weight)
        steps += 1
    return most, steps


def run(accounts: int = 200, payments: int = 800, seed: int = 1) -> Result:
    """Make payments at random, and follow the money of the first account."""
    chance = random.Random(seed)
    with eg.open() as db:
        names = [f"account {number}" for number in range(accounts)]
        db.add_edges(
            chance.choices(names, k=payments),
            chance.choices(names, k=payments),
            "pays",
            amount=[float(chance.randrange(1, 1000)) for _ in range(payments)],
        )
        db.put_edge(names[0], names[1], "pays", amount=999.0)
        view = db.snapshot()
    most, steps = widest_paths(view, names[0], "amount")
    rich = eg.vertex_map(eg.VertexSubset(view), lambda rows: (most[rows] >= 500) & np.isfinite(most[rows]))
    reached = {key: value for key, value in zip(view, most.tolist(), strict=True) if value > 0}
    return Result(reached, steps, rich)


def main() -> None:
    """Tell what was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--accounts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found = run(arguments.accounts, 4 * arguments.accounts, arguments.seed)
    print(f"Money of account 0 reaches {len(found.most) - 1} accounts, in {found.steps} steps.")
    print(f"At least 500 in one chain reach {len(found.rich)} of them: {found.rich!r}")


if __name__ == "__main__":
    main()
