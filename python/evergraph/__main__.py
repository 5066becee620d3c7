"""``python -m evergraph`` is the ``evergraph`` command."""

import sys

from evergraph._cli import main

if __name__ == "__main__":
    sys.exit(main())
