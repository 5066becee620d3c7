"""Windows and incremental algorithms, from Python: their rules and all their numbers are tested in Rust."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest

import evergraph as eg

Rule = Literal["keep", "drop", "count"]
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


@pytest.fixture
def logins(db: eg.Database) -> eg.Database:
    """A database with an edge type whose edges have a time."""
    db.create_edge_type("login", properties={"at": "timestamp"}, multi=True, time="at")
    return db


def login(db: eg.Database, user: str, host: str, seconds: float | None) -> None:
    at = None if seconds is None else START + timedelta(seconds=seconds)
    db.put_edge(user, host, "login", at=at)


def edges(view: eg.Snapshot) -> list[tuple[Any, Any]]:
    table = view.edges()
    return sorted(zip(table["src"].to_list(), table["dst"].to_list(), strict=True))


def test_a_window_in_event_time(logins: eg.Database) -> None:
    window = logins.window(last="10s", edge_type="login", lateness="2s")
    for user, seconds in [("a", 0), ("b", 6), ("c", 5), ("d", 12), ("late", 9), ("e", None)]:
        login(logins, user, "host", seconds)
    view = window.advance()
    assert edges(view) == [("b", "host"), ("c", "host"), ("d", "host")]
    assert view.num_vertices == 4
    assert window.stats == eg.WindowStats(entered=3, left=0, late=1, untimed=1)
    assert window.end == (START + timedelta(seconds=12)).timestamp() * 1e6
    login(logins, "f", "host", 100)
    assert edges(window.advance()) == [("f", "host")]
    assert window.stats.left == 3
    assert view.num_edges == 3
    assert repr(window) == "Window(2 vertices, 1 edge)"


@pytest.mark.parametrize(("rule", "expected"), [("keep", 3), ("drop", 2), ("count", 2)])
def test_the_three_rules_for_duplicates(logins: eg.Database, rule: Rule, expected: int) -> None:
    window = logins.window(edges=3, edge_type="login", duplicates=rule)
    for user in "aaab":
        login(logins, user, "host", 1)
    view = window.advance()
    assert view.num_edges == expected
    if rule == "count":
        table = view.edges()
        assert dict(zip(table["src"].to_list(), table["count"].to_list(), strict=True)) == {"a": 2, "b": 1}


def test_steps_are_iterated(logins: eg.Database) -> None:
    window = logins.window(last=10, every=10, edge_type="login")
    for second in range(35):
        login(logins, f"user {second}", "host", second)
    views = [view for _, view in zip(range(3), window, strict=False)]
    # The window that ends at the start holds the one event of that moment.
    assert [view.num_edges for view in views] == [1, 10, 10]
    last = window.next(timeout=0)
    assert last is not None
    assert last.num_edges == 10
    assert window.next(timeout="10ms") is None
    assert window.advance().num_edges == 10


def test_an_iteration_without_steps_gives_each_new_state(db: eg.Database) -> None:
    db.put_edge(1, 2)
    window = db.window(edges=2)
    for pair in pairwise(range(2, 6)):
        db.put_edge(*pair)
        view = next(window)
        assert edges(view)[-1] == pair
    assert edges(window.latest()) == [(3, 4), (4, 5)]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"last": 5, "edges": 5},
        {"last": 0},
        {"edges": -1},
        {"edges": 5, "every": 0},
        {"edges": 5, "every": "0s"},
        {"last": "soon"},
        {"edges": 5, "duplicates": "twice"},
        {"last": 5, "order": "random"},
        {"edges": 5, "lateness": "1s"},
    ],
)
def test_bad_arguments(logins: eg.Database, arguments: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"."):
        logins.window(edge_type="login", **arguments)  # type: ignore[arg-type]


def test_a_window_of_edges_moves_by_whole_ones(logins: eg.Database) -> None:
    with pytest.raises(TypeError, match="every is a whole number, not float"):
        logins.window(edges=5, every=0.5, edge_type="login")


@pytest.mark.parametrize("every", ["20ms", timedelta(milliseconds=20)])
def test_a_window_of_edges_moves_by_the_clock(every: str | timedelta) -> None:
    db = eg.open()
    db.create_edge_type("login", multi=True)
    window = db.window(edges=2, every=every)
    seen = []
    for users in [["a", "b", "c"], ["d"]]:
        db.add_edges(users, ["web"] * len(users), "login")
        view = next(window)
        seen.append({str(user) for user in view.edges()["src"].to_list()})
        assert window.latest().num_edges == 2
    assert seen == [{"b", "c"}, {"c", "d"}]
    assert not window.latest().has_vertex("a")


def test_what_is_not_there(logins: eg.Database) -> None:
    with pytest.raises(eg.SchemaError, match="nothing"):
        logins.window(edges=5, edge_type="nothing")
    logins.put_edge("a", "b", "knows")
    with pytest.raises(ValueError, match="edge_type"):
        logins.window(edges=5)
    with pytest.raises(eg.SchemaError, match="time"):
        logins.window(last=5, edge_type="knows", order="event")
    window = logins.window(edges=5, edge_type="knows")
    logins.close()
    with pytest.raises(eg.ClosedError):
        window.advance()


def test_algorithms_follow_a_window(logins: eg.Database) -> None:
    window = logins.window(edges=3, edge_type="login")
    login(logins, "a", "b", 0)
    window.advance()
    components = eg.incremental_components(window)
    assert repr(components).startswith("Incremental(connected_components, Snapshot(version="), components
    hops = eg.incremental_bfs(window, "a")
    ranks = eg.incremental_pagerank(window, tol=1e-9)
    others: list[tuple[eg.Incremental[Any], Callable[[eg.Snapshot], Any]]] = [
        (eg.incremental_triangles(window), eg.triangle_count),
        (eg.incremental_degrees(window), eg.degree_statistics),
        (eg.incremental_cores(window), eg.core_number),
    ]
    for user, host in pairwise("abcdabxyzab"):
        login(logins, user, host, 0)
        view = window.advance()
        assert dict(components.result) == dict(eg.connected_components(view))
        expected = dict(eg.bfs(view, "a")) if view.has_vertex("a") else {}
        assert dict(hops.result) == expected
        exact = eg.pagerank(view, tol=1e-12)
        assert ranks.result.keys() == exact.keys()
        assert dict(ranks.result) == pytest.approx(dict(exact), abs=1e-6)
        for incremental, batch in others:
            assert incremental.snapshot.version == view.version
            found, wanted = incremental.result, batch(view)
            assert found == wanted if isinstance(found, int) else dict(found) == dict(wanted)


def test_algorithms_follow_a_database(db: eg.Database) -> None:
    db.add_edges([1, 2, 3], [2, 3, 4], weight=[1.0, 1.0, 5.0])
    distances = eg.incremental_sssp(db, 1)
    hops = eg.incremental_bfs(db, 1)
    db.put_edge(1, 4, weight=2.0)
    db.delete_edge(2, 3)
    assert dict(distances.update()) == {1: 0.0, 2: 1.0, 4: 2.0}
    assert dict(hops.update()) == {1: 0, 2: 1, 4: 1}
    assert hops.snapshot.version == db.snapshot().version
    db.put_edge(1, 3, weight=-1.0)
    with pytest.raises(ValueError, match="negative weight"):
        distances.update()
    with pytest.raises(ValueError, match="anew"):
        _ = distances.result
    with pytest.raises(eg.NotFoundError):
        eg.incremental_bfs(db, 99)
    with pytest.raises(TypeError, match="a window or a stream"):
        eg.incremental_bfs(db.snapshot(), 1)  # type: ignore[arg-type]


def test_what_follows_symmetric_and_directed_edges(db: eg.Database) -> None:
    db.create_edge_type("knows", symmetric=True)
    db.create_edge_type("pays")
    db.put_edge(1, 2, "pays")
    hops, degrees = eg.incremental_bfs(db, 1), eg.incremental_degrees(db)
    cores = eg.incremental_cores(db)
    # Against the way that it is walked.
    for src, dst, edge_type in [(3, 2, "knows"), (1, 3, "pays"), (4, 3, "knows"), (4, 4, "knows")]:
        db.put_edge(src, dst, edge_type)
        view = db.snapshot()
        assert dict(hops.update()) == dict(eg.bfs(view, 1))
        assert dict(degrees.update()) == dict(eg.degree_statistics(view))
        assert dict(cores.update()) == dict(eg.core_number(view))
    db.delete_edge(2, 3, "knows")
    assert dict(hops.update()) == {1: 0, 2: 1, 3: 1, 4: 2}
    assert dict(degrees.update()) == dict(eg.degree_statistics(db.snapshot()))


def test_algorithms_follow_a_stream(db: eg.Database) -> None:
    db.add_edges([1, 2, 3], [2, 3, 4], weight=[1.0, 1.0, 5.0])
    stream = db.stream(["edge"], batch_size=2, stateful=True, timeout=0)
    # What comes before the algorithms begin comes to them with the first batch.
    db.put_edge(4, 5, weight=1.0)
    hops, distances = eg.incremental_bfs(stream, 1), eg.incremental_sssp(stream, 1)
    components, ranks = eg.incremental_components(stream), eg.incremental_pagerank(stream, tol=1e-9)
    others: list[tuple[eg.Incremental[Any], Callable[[eg.Snapshot], Any]]] = [
        (eg.incremental_triangles(stream), eg.triangle_count),
        (eg.incremental_degrees(stream), eg.degree_statistics),
        (eg.incremental_cores(stream), eg.core_number),
    ]
    assert hops.result.depth == 3
    assert hops.snapshot.version == stream.position
    steps: list[Callable[[], object]] = [
        lambda: db.add_edges([1, 2, 5], [3, 4, 1], weight=[1.0, 1.0, 2.0]),
        lambda: db.delete_edge(2, 3),
        lambda: db.put_edge(7, 8, "other"),
        lambda: (db.put_edge(1, 3, weight=9.0), db.put_edge(1, 3, weight=8.0), db.put_edge(6, 7, weight=1.0)),
        lambda: db.delete_vertex(4),
        lambda: (db.put_vertex(9), db.put_edge(3, 4, weight=1.0)),
    ]
    batches = 0
    for step in steps:
        step()
        for batch in stream:
            batches += 1
            view = batch.snapshot
            assert view is not None
            assert dict(hops.result) == dict(eg.bfs(view, 1))
            assert dict(distances.result) == dict(eg.sssp(view, 1))
            assert dict(components.result) == dict(eg.connected_components(view))
            assert dict(ranks.result) == pytest.approx(dict(eg.pagerank(view, tol=1e-12)), abs=1e-6)
            for incremental, batch_twin in others:
                assert incremental.snapshot.version == view.version == batch.version
                found, wanted = incremental.update(), batch_twin(view)
                assert found == wanted if isinstance(found, int) else dict(found) == dict(wanted)
    assert batches == 5
    stream.close()
    with pytest.raises(eg.ClosedError):
        eg.incremental_bfs(stream, 1)


def test_a_batch_is_given_out_whatever_algorithms_say(db: eg.Database) -> None:
    db.put_edge(1, 2, weight=1.0)
    stream = db.stream(stateful=True, timeout=0)
    distances, hops = eg.incremental_sssp(stream, 1), eg.incremental_bfs(stream, 1)
    db.put_edge(1, 3, weight=-1.0)
    assert [batch.version for batch in stream] == [2]
    assert dict(hops.result) == {1: 0, 2: 1, 3: 1}
    for asked in (lambda: distances.result, distances.update, distances.top):
        with pytest.raises(
            ValueError, match="make it anew: the edge from vertex 1 to 3 has a negative weight"
        ):
            asked()


def test_what_a_stream_must_be_to_be_followed(db: eg.Database) -> None:
    db.put_edge(1, 2)
    with pytest.raises(ValueError, match="stateful"):
        eg.incremental_components(db.stream())
    with pytest.raises(TypeError, match="edge types"):
        eg.incremental_components(db.stream(stateful=True), edge_type="edge")
    # What it does not pull is kept for the next one.
    early = db.stream()
    db.put_edge(2, 3)
    past = db.stream(stateful=True, from_version=early.position, timeout=0)
    with pytest.raises(eg.NotRetainedError):
        eg.incremental_components(past)
    assert next(past).version == 2
    assert eg.incremental_components(past).result.count == 1


def test_the_largest_values_follow(logins: eg.Database) -> None:
    """As the rows of the batch twin's largest, after insertions, deletions and moves of a window."""
    window = logins.window(edges=6, edge_type="login")
    stream = logins.stream(["login"], stateful=True, timeout=0)
    batch_twins: list[tuple[Callable[..., eg.Incremental[Any]], Callable[[eg.Snapshot], Any]]] = [
        (eg.incremental_degrees, eg.degree_statistics),
        (eg.incremental_cores, eg.core_number),
    ]
    login(logins, "a", "b", 0)
    following = [(build(of), twin) for of in (window, stream) for build, twin in batch_twins]
    for at, (user, host) in enumerate(pairwise("abcdaxbycabdbabzaqabcc")):
        login(logins, user, host, at)
        if at % 5 == 4:
            logins.delete_edge(user, host, "login")
        if at % 7 == 6:
            logins.delete_vertex(host)
        window.advance()
        for _ in stream:
            pass
        for incremental, twin in following:
            expected = twin(incremental.snapshot)
            for count in (0, 2, 1, 5, 100):
                assert list(incremental.top(count).rows()) == list(expected.top(count).rows())
    ranks = eg.incremental_pagerank(window)
    assert [row[0] for row in ranks.top(2).rows()] == [row[0] for row in ranks.result.top(2).rows()]
    for nothing in (eg.incremental_triangles(window), eg.incremental_components(window)):
        with pytest.raises(TypeError, match="numbers"):
            nothing.top()
    with pytest.raises(ValueError, match="count"):
        ranks.top(-1)


def test_a_closed_window_lets_go_of_the_log(tmp_path: Path) -> None:
    with eg.open(tmp_path / "net.eg") as db:
        db.create_edge_type("edge", multi=True)
        with db.window(edges=10) as window:
            follower = eg.incremental_triangles(window)
            db.add_edges(range(5000), range(1, 5001))
            db.checkpoint()
            assert db.stats().log_bytes > 5000
            view = window.advance()
        db.put_edge(1, 2)
        db.checkpoint()
        assert db.stats().log_bytes < 5000
        assert (view.num_edges, repr(window)) == (10, "Window(closed)")
        for use in (window.advance, window.latest, window.next, follower.update, lambda: window.stats):
            with pytest.raises(eg.ClosedError, match="the window is closed"):
                use()
        window.close()


@pytest.mark.parametrize(
    "kind",
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "date", "timestamp"],
)
def test_every_type_of_event_time_slides(db: eg.Database, kind: Any) -> None:
    db.create_edge_type("e", {"t": kind}, time="t")
    # What was dropped is none of the types that a window may be on.
    db.create_edge_type("gone")
    db.drop_edge_type("gone")
    window = db.window(last="2d" if kind == "date" else 2, lateness="1d" if kind == "date" else 1)
    for place in (0, 1, 3, 2, 4):
        shift = timedelta(days=place) if kind == "date" else timedelta(seconds=place)
        at = {"date": (START + shift).date(), "timestamp": START + shift}.get(kind, place)
        db.put_edge(place, place, "e", t=at)
    assert edges(window.advance()) == [(3, 3), (4, 4)]
    assert (window.stats.late, window.stats.untimed) == (0, 0)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_window_does_not_slide_along_fractions(db: eg.Database, kind: Any) -> None:
    db.create_edge_type("e", {"t": kind}, time="t")
    with pytest.raises(eg.SchemaError, match=f"is {kind}, and a window slides along a timestamp"):
        db.window(last=2, edge_type="e")
    window = db.window(last=60, edge_type="e", order="ingest")
    db.put_edge(1, 2, "e", t=1.5)
    assert window.advance().num_edges == 1


def test_a_time_beyond_signed_numbers_is_the_last_of_them(db: eg.Database) -> None:
    db.create_edge_type("e", {"t": "uint64"}, time="t")
    window = db.window(last=10)
    db.put_edge(1, 2, "e", t=2**63 + 5)
    assert window.advance().num_edges == 1
    assert (window.end, window.stats.untimed) == (2**63 - 1, 0)


def steps(window: eg.Window) -> list[tuple[int | None, int]]:
    found = []
    while (view := window.next(timeout=0)) is not None:
        found.append((window.end, view.num_edges))
    return found


def test_steps_on_which_a_window_stays_empty_are_passed_over(db: eg.Database) -> None:
    db.create_edge_type("e", {"t": "int64"}, time="t", multi=True)
    short, long = db.window(last=1, every=7), db.window(last=10, every=10)
    for time in (7, 8, 15, 22, 29, 36):
        db.put_edge(1, 2, "e", t=time)
    assert steps(short) == [(7, 1), (14, 0)]
    deleted = db.window(last=10, every=10, from_version=db.snapshot().version)
    db.put_edge(1, 2, "e", t=40)
    db.delete_edge(1, 2, "e")
    db.put_edge(3, 4, "e", t=100)
    db.put_edge(3, 4, "e", t=200)
    assert steps(deleted) == [(100, 1), (110, 0)]
    assert steps(long)[-1] == (110, 0)


def test_the_top_of_more_than_there_are(db: eg.Database) -> None:
    db.add_edges([1, 2, 3], [2, 3, 4])
    degrees = eg.incremental_degrees(db)
    for count in (2**61, 2**62, 2**63 - 1):
        assert len(degrees.top(count)) == 4
    db.put_edge(9, 1)
    degrees.update()
    assert len(degrees.top(2**62)) == 5
