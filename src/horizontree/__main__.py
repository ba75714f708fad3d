"""``python -m horizontree`` is the command line."""

import sys

from horizontree.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
