"""The worked applications, on small data of a fixed seed: what was planted is found."""

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import evergraph as eg

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def load(name: str) -> ModuleType:
        sys.modules.pop(name, None)
        return import_module(name)

    return load


def test_the_detour_avoids_what_the_incident_affects(load, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = load("road_incidents").run(size=16, seed=3, picture=tmp_path / "picture.svg")
    assert set(found.slow) <= found.impact
    assert set(found.usual) & found.impact
    assert not set(found.detour) & found.impact
    assert (found.detour[0], found.detour[-1]) == (found.usual[0], found.usual[-1])
    assert len(found.detour) >= len(found.usual)
    assert sum(found.told.values()) >= len(found.slow)
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8").startswith("<svg")


def test_small_towns_work_or_are_refused(load) -> None:  # type: ignore[no-untyped-def]
    example = load("road_incidents")
    for size in range(1, 12):
        if size < example.SMALLEST:
            with pytest.raises(ValueError, match=f"a town of {size} by {size} crossings"):
                example.run(size)
        else:
            found = example.run(size)
            assert not set(found.detour) & found.impact


def test_the_way_of_the_intruder_is_found(load, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = load("network_intrusion").run(machines=60, logins=300, seed=2, picture=tmp_path / "picture.svg")
    assert set(found.planted) <= set(found.suspects)
    assert (found.path[0], found.path[-1]) == (found.planted[0], found.planted[-1])
    assert found.in_window < found.logins
    times = [found.suspects[machine] for machine in found.path]
    assert times == sorted(times)


def test_rings_are_found_and_counted_once(load, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = load("fraud_rings").run(
        accounts=120, payments=500, rings=2, seed=4, picture=tmp_path / "picture.svg"
    )
    assert all(any(ring <= other for other in found.rings) for ring in found.planted)
    assert found.totals == found.expected
    assert found.in_window < found.payments


def test_the_commit_that_opened_the_document_is_found(load, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    found = load("access_audit").run(tmp_path, changes=40, seed=5)
    assert found.path == ["person 0", "group 0", "group 9", "document 0"]
    assert found.culprit == found.planted
    assert found.opened == [("group 0", "group 9")]
    assert not found.readable_now
    assert found.copy == found.now


def test_the_widest_chains_are_found(load) -> None:  # type: ignore[no-untyped-def]
    example = load("own_algorithm")
    found = example.run(accounts=80, payments=200, seed=6)
    assert found.most["account 1"] == 999
    assert set(found.rich) == {key for key, most in found.most.items() if 500 <= most < float("inf")}
    edges = [("s", "a", 5.0), ("a", "b", 3.0), ("s", "b", 2.0), ("b", "c", 9.0), ("z", "s", 1.0)]
    with eg.open() as db:
        db.add_edges(*zip(*[edge[:2] for edge in edges], strict=True), weight=[edge[2] for edge in edges])
        view = db.snapshot()
    most, steps = example.widest_paths(view, "s", "weight")
    assert dict(zip(view, most.tolist(), strict=True)) == {"s": float("inf"), "a": 5, "b": 3, "c": 3, "z": 0}
    assert steps == 4
