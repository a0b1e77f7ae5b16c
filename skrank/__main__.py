"""``python -m skrank``: the command line."""

import sys

from skrank.cli import main

if __name__ == "__main__":
    sys.exit(main())
