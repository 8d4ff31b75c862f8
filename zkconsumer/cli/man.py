"""``zkconsumer man``: shows the installed manual page of all commands."""

import argparse
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

DESCRIPTION = """\
Show the manual page of all commands. To install it for 'man zkconsumer':

  ln -s "$(zkconsumer man --path)" /usr/local/share/man/man1/
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--path", action="store_true", help="print the path of the page instead of showing it"
    )


def run(args: argparse.Namespace) -> int:
    """Show the page with ``man`` on a terminal; else print its source."""
    page = resources.files("zkconsumer.cli.manual").joinpath("zkconsumer.1")
    with resources.as_file(page) as path:
        if args.path:
            print(path)
            return 0
        return _show(path)


def _show(path: Path) -> int:
    viewer = shutil.which("man")
    if viewer is not None and sys.stdout.isatty():
        return subprocess.run([viewer, "-l", str(path)], check=False).returncode  # noqa: S603
    print(path.read_text(encoding="utf-8"), end="")
    return 0
