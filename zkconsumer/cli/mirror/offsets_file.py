"""The argument of commands that read what a mirror wrote."""

import argparse
from pathlib import Path


def add_offsets_file_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--offsets-file``, a list of paths."""
    parser.add_argument(
        "--offsets-file",
        type=Path,
        required=True,
        action="append",
        metavar="FILE",
        help="what the mirror wrote; give it again for each mirror of the group",
    )
