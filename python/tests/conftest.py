"""What the tests share. Soak tests are skipped unless they were asked for."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

import evergraph as eg

WIKI_VOTE = Path(__file__).parents[2] / "tests" / "data" / "wiki-Vote.txt.gz"


def pytest_configure() -> None:
    # Whoever runs the tests in the background has them ignore Ctrl-C, which some of them send.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("EVERGRAPH_SOAK") == "1":
        return
    skip = pytest.mark.skip(reason="a soak test: set EVERGRAPH_SOAK=1, or run `make soak`")
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(skip)


@pytest.fixture
def db() -> Iterator[eg.Database]:
    """A database in memory."""
    with eg.open() as db:
        yield db


@pytest.fixture(scope="session")
def wiki_vote() -> eg.Snapshot:
    """Who voted on whom: 7,115 vertices, 103,689 edges."""
    with eg.open() as db:
        db.load(WIKI_VOTE)
        return db.snapshot()
