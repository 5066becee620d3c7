"""Skips the soak tests unless they were asked for."""

import os

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("EVERGRAPH_SOAK") == "1":
        return
    skip = pytest.mark.skip(reason="a soak test: set EVERGRAPH_SOAK=1, or run `make soak`")
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(skip)
