"""``zkconsumer offsets import``: sets groups' offsets from a file, as ``ImportZkOffsets``."""

import argparse

from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.files import read_text
from zkconsumer.cli.formats.offset_files import parse_offset_file
from zkconsumer.cli.formats.zk_offsets import Offsets, read_as_original
from zkconsumer.cli.offsets.drawing import Job, draw
from zkconsumer.cli.offsets.jobs import add_writing_arguments, finish, target_of
from zkconsumer.cli.offsets.opening import open_offsets
from zkconsumer.cli.output import note
from zkconsumer.cli.progress import progress
from zkconsumer.cli.tables import add_format_arguments
from zkconsumer.errors import ConfigError
from zkconsumer.offsets.planning import ToOffsets

DESCRIPTION = """\
Set groups to the offsets of a file: one of 'zkconsumer offsets export', of the original's
ExportZkOffsets (/consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET per line), or with
GROUP,TOPIC,PARTITION,OFFSET per line.

The whole file is read and checked against the cluster before anything is written; if one line is
invalid, nothing is written (partitions that don't exist are skipped, and named). The former offsets
of all groups are written to a file first, which undoes the import: 'zkconsumer offsets set
--roll-back FILE'. Groups with live members are refused (--force).

  zkconsumer offsets import --zookeeper zk1:2181 --input-file saved --dry-run

The original stops reading at the first empty line, and of a line with two colons uses the text
between them; this command continues after empty lines, and refuses lines with two colons. --format
scala reads like the original, and prints nothing, like the original; its offsets are checked
against the cluster all the same.
"""
EPILOG = """\
exit status: 0 set and read back (or, with --dry-run, could be set); 1 it failed, or not every
offset is as planned: the table shows which; 2 wrong usage, or refused: nothing was written"""

SUMMARY = "set groups to the offsets of a file (ImportZkOffsets)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--input-file", metavar="FILE", required=True, help="the file to read")
    parser.add_argument(
        "--group",
        action="append",
        metavar="GROUP",
        help=(
            "only this group of the file; may be repeated. Also the group of lines that don't "
            "name one"
        ),
    )
    add_writing_arguments(parser)
    add_cluster_arguments(parser)
    add_format_arguments(parser, scala="ImportZkOffsets of 0.8.2.2")


def run(args: argparse.Namespace) -> int:
    """Import, and print the result; return the exit status."""
    offsets = _offsets(args)
    jobs: list[Job] = []
    with open_offsets(args) as cluster:
        with progress("planning", len(offsets), unit="groups") as advance:
            for group_id, of_group in sorted(offsets.items()):
                target = target_of(args, ToOffsets(of_group), storage_of_new="zookeeper")
                jobs.append(draw(cluster, group_id, target))
                advance(1)
        return finish(args, cluster, jobs, scala=lambda _: "")


def _offsets(args: argparse.Namespace) -> Offsets:
    name, text = args.input_file, read_text(args.input_file)
    only: list[str] = args.group or []
    if args.format == "scala":
        nodes = read_as_original(text, name)
        text = "".join(f"{path}:{offset}\n" for path, offset in nodes.items())
    else:
        _report_empty_lines(name, text)
    offsets = parse_offset_file(text, name, only[0] if len(only) == 1 else None)
    missing = [group_id for group_id in only if group_id not in offsets]
    if missing:
        there = ", ".join(sorted(offsets))
        raise ConfigError(f"{name} has no offsets of {', '.join(missing)}, but of {there}")
    return {name: offsets[name] for name in only or offsets}


def _report_empty_lines(name: str, text: str) -> None:
    """Warn about empty lines, at which the original stops, since users may rely on that."""
    lines = text.rstrip().splitlines() if text.startswith("/") else ()
    number = next((number for number, line in enumerate(lines, start=1) if not line), None)
    if number is not None:
        note(
            f"{name}:{number} is empty: the original would stop there, but reading continues "
            "(--format scala stops, too)"
        )
