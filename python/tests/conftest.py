"""What the tests share."""

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
