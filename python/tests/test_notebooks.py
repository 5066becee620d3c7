"""What notebooks show: every object a user holds, with all text escaped."""

from collections.abc import Callable
from pathlib import Path

import pytest

import evergraph as eg

NASTY = "<script>x</script>"
SAFE = "&lt;script&gt;x&lt;/script&gt;"


@pytest.fixture
def nasty(db: eg.Database) -> eg.Database:
    """Edges of a type, and between vertices, that are called like HTML."""
    db.add_edges([NASTY, NASTY, "b"], ["b", "c", "c"], NASTY, weight=[1.0, 2.0, 3.0])
    return db


def batch(db: eg.Database) -> eg.Batch:
    stream = db.stream(timeout=0)
    db.delete_edge(NASTY, "b", NASTY)
    db.put_edge(NASTY, "b", NASTY)
    return next(stream)


def loaded(db: eg.Database) -> eg.LoadResult:
    file = Path("nasty.csv")
    file.write_text(f"1,2\n{NASTY}\n3,4\n", encoding="utf-8")
    with eg.open() as other:
        return other.load(file, header=False, on_error="skip")


SHOWN: list[Callable[[eg.Database], object]] = [
    lambda db: db,
    lambda db: db.begin(),
    lambda db: db.schema,
    lambda db: db.stats(),
    lambda db: db.snapshot(),
    lambda db: db.create_view("v", vertices=[NASTY]),
    lambda db: db.snapshot().edges(),
    batch,
    loaded,
    lambda db: loaded(db).rejects,
    lambda db: eg.bfs(db.snapshot(), NASTY),
    lambda db: eg.hits(db.snapshot()),
    lambda db: eg.shortest_path(db.snapshot(), NASTY, "c"),
    lambda db: eg.k_core(db.snapshot()),
    lambda db: eg.maximal_independent_set(db.snapshot(), [NASTY]),
    lambda db: eg.maximal_matching(db.snapshot()),
    lambda db: eg.multi_source_bfs(db.snapshot(), [NASTY]),
    lambda db: eg.jaccard_coefficient(db.snapshot(), [(NASTY, "b")]),
    lambda db: eg.minimum_spanning_edges(db.snapshot()),
    lambda db: eg.random_walks(db.snapshot(), NASTY),
    lambda db: eg.topological_sort(db.snapshot()),
]


@pytest.mark.parametrize("made", SHOWN)
def test_text_is_escaped(
    nasty: eg.Database, made: Callable[[eg.Database], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    html = made(nasty)._repr_html_()  # type: ignore[attr-defined]
    assert "<script" not in html
    assert SAFE in html
    assert html.count("<table>") == html.count("</table>") >= 1


def test_counts_are_shown(nasty: eg.Database) -> None:
    before = nasty.snapshot()
    nasty.delete_vertex("c")
    change = eg.diff(before, nasty.snapshot())._repr_html_()
    assert '<td style="text-align: left">removed</td><td style="text-align: right">2</td>' in change
    window = nasty.window(edges=5)
    nasty.put_edge("d", "e", NASTY)
    window.advance()
    assert '<td style="text-align: left">entered</td><td style="text-align: right">1</td>' in (
        window._repr_html_()
    )
    assert nasty.stream()._repr_html_() == "<p>Stream(position=3)</p>"


def test_what_is_over_is_shown_too(tmp_path: Path) -> None:
    with eg.open(tmp_path / "<b>.eg") as db:
        tx = db.begin()
        db.put_vertex(1)
    assert "&lt;b&gt;.eg&#x27;, closed" in db._repr_html_()
    assert "Transaction" in tx._repr_html_()
    report = eg.check(tmp_path / "<b>.eg")._repr_html_()
    assert "1 vertex, 0 edges" in report and "<b>" not in report


def test_one_row_is_one_row(db: eg.Database) -> None:
    db.put_vertex(1, n=5)
    assert repr(db.snapshot().vertices()["n"]) == "Column('n', int64, 1 row: [5])"
