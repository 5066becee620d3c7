"""Evergraph: one store for ever-changing graphs.

Importing this package loads the native module and nothing else; numpy, pyarrow and the like are
imported where a call first needs them.
"""

from evergraph._native import __version__

__all__ = ["__version__"]
