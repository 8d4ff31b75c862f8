"""``python -m zkconsumer`` is the ``zkconsumer`` command."""

import sys

from zkconsumer.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
