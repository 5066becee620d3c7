"""Progress bars: of ``rich`` if it is installed, else one plain line. Of what is soon done none is shown."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TextIO, TypeAlias

Report: TypeAlias = Callable[[int, int], None]
"""Called with how much is done and how much there is, 0 if that is not known."""

_SHOWN_AFTER_SECONDS = 0.5
_BAR_CHARS = 30
_REDRAW_SECONDS = 0.1


@contextmanager
def bar(title: str, *, wanted: bool) -> Iterator[Report | None]:
    """Show a bar while the block runs, and give what to call with the progress; ``None`` if there is none.

    It is shown on standard error if that is a terminal, and in notebooks, once the block has taken a while.
    """
    if not wanted or not (sys.stderr.isatty() or _in_notebook()):
        yield None
        return
    begin = time.monotonic()
    shown: Report | None = None
    with ExitStack() as stack:

        def report(done: int, total: int) -> None:
            nonlocal shown
            if shown is None:
                if time.monotonic() - begin < _SHOWN_AFTER_SECONDS:
                    return
                shown = stack.enter_context(_bar(title))
            shown(done, total)

        yield report


def _bar(title: str) -> AbstractContextManager[Report]:
    try:
        import rich.progress  # noqa: F401
    except ImportError:
        return _plain(title)
    return _rich(title)


@contextmanager
def _plain(title: str) -> Iterator[Report]:
    line = _Line(title, sys.stderr)
    try:
        yield line.report
    finally:
        line.finish()


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"


@contextmanager
def _rich(title: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)

        def report(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total or None)

        yield report


class _Line:
    """One line that is written over and over."""

    def __init__(self, title: str, stream: TextIO) -> None:
        self.title = title
        self.stream = stream
        self.drawn_at = 0.0
        self.width = 0

    def report(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.drawn_at < _REDRAW_SECONDS:
            return
        self.drawn_at = now
        share = min(done / total, 1.0) if total else 0.0
        filled = round(share * _BAR_CHARS)
        known = f"[{'#' * filled}{'.' * (_BAR_CHARS - filled)}] {share:4.0%}"
        self._write(f"{self.title} {known if total else '...'}")

    def finish(self) -> None:
        self._write("")
        self.stream.write("\r")
        self.stream.flush()

    def _write(self, text: str) -> None:
        self.stream.write(f"\r{text.ljust(self.width)}")
        self.stream.flush()
        self.width = len(text)
