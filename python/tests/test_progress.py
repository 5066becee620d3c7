"""Progress bars: on a terminal, with rich or without, and not elsewhere."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from conftest import WIKI_VOTE

import evergraph as eg
from evergraph import _progress


class Terminal(io.StringIO):
    """Standard error of somebody who looks."""

    def isatty(self) -> bool:
        return True


@contextmanager
def watched() -> Iterator[Terminal]:
    """Somebody looks. In the test itself, since pytest sets its own standard error before each."""
    with pytest.MonkeyPatch.context() as patch:
        terminal = Terminal()
        patch.setattr(sys, "stderr", terminal)
        patch.setenv("TERM", "xterm")
        yield terminal


def test_nothing_is_shown_where_nobody_looks(db: eg.Database, capfd: pytest.CaptureFixture[str]) -> None:
    db.load(WIKI_VOTE, progress=True)
    eg.pagerank(db.snapshot(), progress=True)
    assert capfd.readouterr() == ("", "")


def test_a_notebook_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not _progress._in_notebook()
    for name, expected in (("ZMQInteractiveShell", True), ("TerminalInteractiveShell", False)):
        module = ModuleType("IPython")
        shell = type(name, (), {})()
        module.get_ipython = lambda shell=shell: shell  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", module)
        assert _progress._in_notebook() == expected


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if everything took long."""
    monkeypatch.setattr(_progress, "_SHOWN_AFTER_SECONDS", 0.0)


def test_nothing_is_shown_of_what_is_soon_done(db: eg.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "_SHOWN_AFTER_SECONDS", 60.0)
    with watched() as terminal:
        db.load(WIKI_VOTE, progress=True)
    assert terminal.getvalue() == ""


@pytest.mark.usefixtures("hasty")
def test_a_load_is_shown_unless_it_is_not_to_be(db: eg.Database) -> None:
    with watched() as terminal:
        db.load(WIKI_VOTE, progress=False)
        eg.pagerank(db.snapshot())
        assert terminal.getvalue() == ""
        db.load(WIKI_VOTE)
    assert "Loading" in terminal.getvalue()


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("rich", [True, False])
def test_a_bar_is_shown_and_taken_away(db: eg.Database, monkeypatch: pytest.MonkeyPatch, rich: bool) -> None:
    if not rich:
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    with watched() as terminal:
        db.load(WIKI_VOTE, progress=True)
        eg.pagerank(db.snapshot(), progress=True)
    shown = terminal.getvalue()
    assert "Loading wiki-Vote.txt.gz" in shown
    assert "pagerank" in shown
    assert "100%" in shown
    # The last thing written clears the line.
    assert shown.rstrip("\r\n").endswith(" ") or "\x1b[2K" in shown


def test_the_plain_line_shrinks_cleanly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "_REDRAW_SECONDS", 0.0)
    stream = io.StringIO()
    line = _progress._Line("Loading", stream)
    line.report(5, 10)
    line.report(7, 0)
    line.finish()
    first, second, last = stream.getvalue().removeprefix("\r").removesuffix("\r").split("\r")
    assert first == f"Loading [{'#' * 15}{'.' * 15}]  50%"
    assert second.rstrip() == "Loading ..."
    assert len(second) == len(first)
    assert last.strip() == ""


@pytest.mark.usefixtures("hasty")
def test_an_error_ends_the_bar(db: eg.Database, tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("1 2\n3\n")
    # rich refuses a second bar beside one that was not ended.
    for _ in range(2):
        with watched(), pytest.raises(eg.LoadError):
            db.load(path, progress=True)
