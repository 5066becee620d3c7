"""The ``evergraph`` command: the Rust command line, with its exit code."""

import signal
import sys

from evergraph import _native


def main() -> int:
    """Run the command line of this process and return its exit code."""
    # As any other command: Ctrl-C ends it at once, and so does the reader of a pipe going away.
    for name in ("SIGINT", "SIGPIPE"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    return _native.run_cli(["evergraph", *sys.argv[1:]])
