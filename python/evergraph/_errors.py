"""The exceptions of Evergraph: one class for each thing a caller can do about it.

Wrong arguments (a key that is a list, columns of different lengths) give the built-in ``TypeError``
and ``ValueError`` instead.
"""

from pathlib import Path
from typing import Literal


class EvergraphError(Exception):
    """What every error of Evergraph is."""


class ConflictError(EvergraphError):
    """Another transaction changed the same vertex, edge or type first; nothing of this one was applied.

    Run the transaction again from its beginning, or let `Database.transact` do so.

    Attributes
    ----------
    version : int
        The commit that came first.
    kind : {"vertex", "edge", "edges", "schema", "item"}
        What it changed that this transaction wrote to, or with ``serializable`` isolation has read: a vertex,
        an edge, edges of a vertex or a large batch of edges, the schema, or an item that a view or a handler
        keeps.
    key : int, str or None
        The vertex; of a batch of edges it is not known.
    src, dst : int, str or None
        The ends of the edge; of a ``symmetric`` type in either order.
    edge_type : str or None
        The type of the edge or edges.
    names : tuple of str
        The types and properties of the schema that are new, dropped or renamed since the transaction began,
        by the names it knows them by; the name of the item.
    """

    version: int | None = None
    kind: Literal["vertex", "edge", "edges", "schema", "item"] | None = None
    key: int | str | None = None
    src: int | str | None = None
    dst: int | str | None = None
    edge_type: str | None = None
    names: tuple[str, ...] = ()


class TransactionTimeoutError(EvergraphError, TimeoutError):
    """A transaction was not over within its ``timeout``; nothing of it was applied. Begin another one.

    It is a ``TimeoutError`` too.
    """


class SavepointError(EvergraphError, ValueError):
    """A savepoint is gone, because one before it was rolled back to, or is of another transaction.

    It is a ``ValueError`` too.
    """


class NotFoundError(EvergraphError, KeyError):
    """A vertex, an edge or a store that was asked for is not there.

    It is a ``KeyError`` too, so that what is dict-like behaves like a dict.
    """

    # KeyError shows its argument as a key, in quotes; this one has a sentence.
    __str__ = EvergraphError.__str__


class NoPathError(NotFoundError):
    """There is no path from one vertex to the other. Both are there: a plain `NotFoundError` says if not."""


class CycleError(EvergraphError, ValueError):
    """There is a cycle where there must be none. It is a ``ValueError`` too.

    Attributes
    ----------
    vertex : int or str
        A vertex of the cycle.
    """

    vertex: int | str | None = None


class AlreadyExistsError(EvergraphError, FileExistsError):
    """There is a store where a new one was to be written; it was left as it is.

    It is a ``FileExistsError`` too.

    Attributes
    ----------
    path : pathlib.Path
        The directory.
    """

    path: Path | None = None


class SchemaError(EvergraphError):
    """A key, a value or a type does not fit the schema; nothing was changed."""


class PredicateError(EvergraphError, ValueError):
    """A predicate does not parse, or does not fit the schema; the message says where and what is known.

    It is a ``ValueError`` too.
    """


class ViewExistsError(EvergraphError):
    """There is a view of this name already; it was left as it is."""


class HandlerInUseError(EvergraphError):
    """A handler of this name is at work on the view already; stop it, or take another name."""


class LoadError(EvergraphError):
    """A file could not be loaded; nothing of it was.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    line : int or None
        The line with the trouble, from 1; ``None`` where it is at no line.
    column : int or None
        The byte in that line where the trouble starts, from 1.
    """

    path: Path | None = None
    line: int | None = None
    column: int | None = None


class CorruptionError(EvergraphError):
    """Bytes on disk are not those that were written. They are never used.

    Attributes
    ----------
    path : pathlib.Path
        The damaged file.
    offset : int
        Where the damage is, in bytes from the start of the file.
    """

    path: Path | None = None
    offset: int | None = None


class LockedError(EvergraphError):
    """Another process, or another handle in this one, has the store open.

    Attributes
    ----------
    path : pathlib.Path
        The lock file.
    holder : str
        Who has it, such as ``process 4711 (python3)``.
    """

    path: Path | None = None
    holder: str | None = None


class NotRetainedError(EvergraphError, LookupError):
    """A version that is no longer kept, or not there yet; it is a ``LookupError`` too.

    Attributes
    ----------
    first : int
        The first version there is.
    last : int
        The newest, where a version was asked for.
    """

    first: int | None = None
    last: int | None = None


class NotAStoreError(EvergraphError):
    """The path names something that is no Evergraph store; it was left as it is.

    Attributes
    ----------
    path : pathlib.Path
        The path.
    """

    path: Path | None = None


class NewerFormatError(EvergraphError):
    """A later release wrote the store; this one cannot read it and left it as it is.

    Attributes
    ----------
    path : pathlib.Path
        The file that says so.
    """

    path: Path | None = None


class DiskError(EvergraphError):
    """The system refused to read or write a file of the store, which is as it was.

    Attributes
    ----------
    path : pathlib.Path, optional
        The file or directory, where that is not only named by the message.
    """

    path: Path | None = None


class ReadOnlyError(EvergraphError):
    """A write to a store that was opened with ``read_only=True``."""


class ClosedError(EvergraphError):
    """Use of a database that was closed, or of a transaction that was committed or rolled back."""


class ForkedError(ClosedError):
    """Use of a database that the parent of this process opened, before ``os.fork()`` made this one.

    Open the database in the child, or start processes with ``spawn``. Snapshots made before stay usable.
    """


class DurabilityError(EvergraphError):
    """A commit could not be made durable, and the store takes no more until it is opened again.

    What was acknowledged before is safe; the commit that failed is there whole or not at all.
    """


class ArchiveError(EvergraphError):
    """Changes could not be archived. Nothing is lost: the log has them, and the store goes on."""


class BackupError(EvergraphError):
    """A backup was to lie in its own store, or was not written to its end: then remove its directory."""


class VerifyError(EvergraphError):
    """A slow verifier, asked for by ``verify=True``, did not agree with a result: a bug worth reporting."""


# Tracebacks and pickles name the classes as users do.
for _class in [
    kind for kind in globals().values() if isinstance(kind, type) and issubclass(kind, EvergraphError)
]:
    _class.__module__ = "evergraph"
