"""The packages Evergraph works with but does not need: imported when a call first needs them."""

from importlib import import_module
from typing import Any


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
