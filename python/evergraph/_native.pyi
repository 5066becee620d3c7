"""What the native module offers; kept equal to it by ``stubtest`` in ``make lint``."""

from collections.abc import Sequence

__version__: str

def run_cli(args: Sequence[str]) -> int: ...
