"""The package as installed: version, command, time to import, size."""

import inspect
import subprocess
import sys
import zlib
from importlib.metadata import version
from pathlib import Path

import evergraph as eg
from evergraph import _native

# Importing takes at most the time in which Python starts so often: about 150 ms on a quick machine.
IMPORT_STARTS = 15
WHEEL_BYTES = 10_000_000


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


def seconds_to_run(statement: str) -> float:
    """The processor time of the shortest of five runs, since other work on the machine only ever adds."""
    program = f"import time; {statement}; print(time.process_time())"
    return min(float(run("-c", program).stdout) for _ in range(5))


def test_the_version_is_that_of_the_distribution() -> None:
    assert eg.__version__ == version("evergraph")


def test_the_command_and_the_module_are_the_same_program() -> None:
    command = Path(sys.executable).with_name("evergraph")
    installed = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert installed.stdout.split() == ["evergraph", eg.__version__]
    assert run("-m", "evergraph", "--version").stdout.split() == ["evergraph", eg.__version__]


def test_importing_is_quick() -> None:
    start = seconds_to_run("pass")
    assert seconds_to_run("import evergraph") - start <= IMPORT_STARTS * start


def test_every_name_that_is_offered_is_there_and_documented() -> None:
    assert sorted(eg.__all__) == sorted(set(eg.__all__))
    for name in eg.__all__:
        thing = getattr(eg, name)
        if isinstance(thing, type) or inspect.isfunction(thing):
            assert thing.__doc__, name


def test_importing_loads_none_of_the_partners() -> None:
    partners = {"numpy", "pyarrow", "pandas", "polars", "networkx", "scipy"}
    loaded = run("-c", "import sys, evergraph; print(*sys.modules)").stdout.split()
    assert partners.isdisjoint(loaded)


def test_the_wheel_is_small() -> None:
    assert _native.__file__ is not None
    assert len(zlib.compress(Path(_native.__file__).read_bytes())) <= WHEEL_BYTES


def test_methods_describe_the_vertices_and_edge_types_they_take() -> None:
    for owner in (eg.Database, eg.Snapshot, eg.Transaction, eg.View):
        for name, method in vars(owner).items():
            doc = inspect.getdoc(method) or ""
            # One that does another in a transaction of its own is described there.
            if name.startswith("_") or not inspect.isfunction(method) or "of its own. It never" in doc:
                continue
            for parameter in inspect.signature(method).parameters:
                if parameter in ("key", "src", "dst", "edge_type"):
                    _, _, described = doc.partition("Parameters\n----------\n")
                    assert parameter in described.partition("\n\n")[0], (
                        f"{owner.__name__}.{name}: {parameter}"
                    )
