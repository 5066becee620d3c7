"""Waits: they hear Ctrl-C, and nobody else waits along, for the interpreter or for what one waits in."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import evergraph as eg

LONG = 30.0
SOON = 5.0


@pytest.fixture
def timed() -> eg.Database:
    """A database with one edge, whose type has a time; its log is kept from the first commit on."""
    db = eg.open(retain="all")
    db.create_edge_type("e", {"t": "int64"}, time="t", multi=True)
    db.put_edge(1, 2, "e", t=1)
    return db


@pytest.fixture(autouse=True)
def is_soon() -> Iterator[None]:
    """Fail what takes as long as the waits would."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < LONG / 2


def interrupt_soon() -> None:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()


@pytest.mark.parametrize(
    "wait",
    [
        lambda db: db.create_view("v", where="id > 0").on_update(print, name="h").wait(10**6, LONG),
        lambda db: next(db.stream(every=LONG, from_version=0)),
        lambda db: next(db.stream(timeout=LONG)),
        lambda db: db.window(last=3, from_version=2).next(LONG),
    ],
    ids=["handler", "gathering", "stream", "window"],
)
def test_ctrl_c_ends_a_wait(wait: Callable[[eg.Database], object]) -> None:
    db = eg.open(retain="all")
    db.create_edge_type("e", {"t": "int64"}, time="t")
    db.put_edge(1, 2, "e", t=1)
    interrupt_soon()
    with pytest.raises(KeyboardInterrupt):
        wait(db)


def waiting(wait: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """A thread that waits, with what became of it."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(wait())
        except eg.EvergraphError as error:
            outcome.append(type(error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.2)
    return thread, outcome


def test_a_stream_can_be_looked_at_and_closed_while_another_thread_waits_in_it(timed: eg.Database) -> None:
    for stream in (timed.stream(), timed.stream(every=LONG, from_version=1)):
        thread, outcome = waiting(lambda stream=stream: next(stream))  # type: ignore[misc]
        assert stream.position in (1, 2)
        assert repr(stream).startswith("Stream(position=")
        stream.acknowledge()
        stream.close()
        thread.join(SOON)
        assert outcome == [eg.ClosedError]


def test_a_batch_that_is_gathered_is_waited_for_beyond_the_timeout(timed: eg.Database) -> None:
    with timed.stream(every=0.3, timeout=0, from_version=0) as stream:
        assert [batch.version for batch in stream] == [timed.snapshot().version]


def test_closing_the_database_ends_waits(timed: eg.Database) -> None:
    window, stream = timed.window(last=3, from_version=2), timed.stream(every=LONG, from_version=0)
    waits = [waiting(lambda: window.next(LONG)), waiting(lambda: next(stream))]
    timed.close()
    for thread, outcome in waits:
        thread.join(SOON)
        assert outcome == [eg.ClosedError]


def test_two_threads_share_the_batches_of_a_stream(timed: eg.Database) -> None:
    got: list[int] = []
    with timed.stream(batch_size=1) as stream:

        def take() -> None:
            got.extend(next(stream).version for _ in range(10))

        threads = [waiting(take)[0] for _ in range(2)]
        versions = [timed.put_edge(1, 2, "e", t=2) for _ in range(20)]
        for thread in threads:
            thread.join(SOON)
    assert sorted(got) == versions


def test_a_window_is_looked_at_while_another_thread_waits_in_it(timed: eg.Database) -> None:
    window = timed.window(last=3)
    window.advance()
    thread, outcome = waiting(lambda: window.next(2))
    beats: list[float] = []

    def beat() -> None:
        while thread.is_alive():
            beats.append(time.monotonic())
            time.sleep(0.005)

    uninvolved = threading.Thread(target=beat, daemon=True)
    uninvolved.start()
    looks = 0
    while thread.is_alive():
        assert (window.end, window.stats.entered) == (1, 1)
        assert window.memory_bytes > 0
        assert window.latest().num_edges == 1
        looks += 1
        time.sleep(0.005)
    uninvolved.join()
    assert outcome == [None]
    # Each of them took a slice of the wait, 50 ms and more, and all threads with it.
    assert looks > 20
    assert len(beats) > 20
