"""Evergraph: one store for ever-changing graphs.

>>> import evergraph as eg
>>> with eg.open() as db:  # in memory; eg.open("net.eg") keeps the graph in a directory
...     with db.begin() as tx:  # one transaction: committed when the block ends
...         tx.put_edge("alice", "bob", "knows", since=2019)
...         tx.put_edge("bob", "carol", "knows", since=2021)
...     view = db.snapshot()  # the graph as it is now; never changes
>>> view.out_neighbors("alice")
['bob']
>>> eg.bfs(view, "alice")["carol"]
2

`open` gives a `Database`, `Database.begin` a `Transaction`, `Database.snapshot` a `Snapshot`; the algorithms
run on snapshots.

Importing this package loads the native module and nothing else; numpy, pyarrow and the like are
imported where a call first needs them.
"""

from evergraph._algorithms import bfs, connected_components, pagerank, triangle_count
from evergraph._database import Database, check, open
from evergraph._errors import (
    ClosedError,
    ConflictError,
    CorruptionError,
    DiskError,
    DurabilityError,
    EvergraphError,
    LoadError,
    LockedError,
    NewerFormatError,
    NotAStoreError,
    NotFoundError,
    ReadOnlyError,
    SchemaError,
    VerifyError,
)
from evergraph._load import BatchResult, LoadResult, Reject, Rejects
from evergraph._native import __version__
from evergraph._records import Edge, Vertex
from evergraph._results import BfsResult, ComponentsResult, PageRankResult, VertexResult
from evergraph._snapshot import ArrowGraph, Csr, Snapshot
from evergraph._stats import CheckReport, Problem, Stats
from evergraph._table import Column, Table
from evergraph._transaction import Transaction
from evergraph._types import Durability, Key, KeyKind, PropertyType, Value

__all__ = [
    "ArrowGraph",
    "BatchResult",
    "BfsResult",
    "CheckReport",
    "ClosedError",
    "Column",
    "ComponentsResult",
    "ConflictError",
    "CorruptionError",
    "Csr",
    "Database",
    "DiskError",
    "Durability",
    "DurabilityError",
    "Edge",
    "EvergraphError",
    "Key",
    "KeyKind",
    "LoadError",
    "LoadResult",
    "LockedError",
    "NewerFormatError",
    "NotAStoreError",
    "NotFoundError",
    "PageRankResult",
    "Problem",
    "PropertyType",
    "ReadOnlyError",
    "Reject",
    "Rejects",
    "SchemaError",
    "Snapshot",
    "Stats",
    "Table",
    "Transaction",
    "Value",
    "VerifyError",
    "Vertex",
    "VertexResult",
    "__version__",
    "bfs",
    "check",
    "connected_components",
    "open",
    "pagerank",
    "triangle_count",
]
