"""The packages Evergraph works with but does not need: imported when a call first needs them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any


def partner(module: str, extra: str) -> Any:
    """Import an optional package, or say how to get it.

    Raises
    ------
    ImportError
        If it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = module.partition(".")[0]
        message = f"this needs {name}, which is not installed: pip install 'evergraph[{extra}]'"
        raise ImportError(message, name=name) from error


class _Later:
    """A package that annotations name, imported when one of them is asked for (``typing.get_type_hints``).

    What it has is ``Any`` where it is not installed.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        # What looks over a module, such as doctest, imports nothing.
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        try:
            return getattr(import_module(self._name), attribute)
        except ModuleNotFoundError:
            return Any


if TYPE_CHECKING:
    import numpy as numpy
    import pandas as pandas
    import polars as polars
    import pyarrow as pyarrow
else:
    numpy, pandas, polars, pyarrow = map(_Later, ("numpy", "pandas", "polars", "pyarrow"))
