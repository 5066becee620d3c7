"""What is closed at the end of a ``with`` block."""

from __future__ import annotations

from types import TracebackType

from evergraph._types import Self


class Closing:
    """A context manager that is closed when its block ends, however it does."""

    __slots__ = ()

    def close(self) -> None:
        """Let go of what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        """Begin a block at the end of which it is closed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()
