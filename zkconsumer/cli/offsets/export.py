"""``zkconsumer offsets export``: writes committed offsets to a file, as ``ExportZkOffsets``."""

import argparse
from collections.abc import Sequence

from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.files import write_output
from zkconsumer.cli.formats.offset_files import csv_text
from zkconsumer.cli.formats.zk_offsets import export_text
from zkconsumer.cli.offsets.drawing import STORAGES
from zkconsumer.cli.offsets.jobs import print_unseen
from zkconsumer.cli.offsets.opening import OffsetsCluster, open_offsets
from zkconsumer.cli.output import note
from zkconsumer.cli.progress import progress
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.offsets.placing import merged
from zkconsumer.zk.paths import is_segment

_LISTED = 5

DESCRIPTION = """\
Write the committed offsets of groups to a file: by default in the format of the original's
ExportZkOffsets, /consumers/GROUP/offsets/TOPIC/PARTITION:OFFSET per line, which 'zkconsumer offsets
import' and the original's ImportZkOffsets read. Nothing in the cluster is changed.

  zkconsumer offsets export --zookeeper zk1:2181 --output-file saved
  zkconsumer offsets export --zookeeper zk1:2181 --group billing --csv --output-file -

Groups with offsets in Kafka are exported, too, in the same format. If a group has offsets in both
storages, the larger one counts, as it does for its members; --storage selects one storage, and
--storage zookeeper gives the output of the original, sorted by name, and needs no broker.

An offset that can't be read stops the export: no file is written then, and an existing one is not
changed.
"""
EPILOG = """\
exit status: 0 written; 1 something could not be read or written; 2 wrong usage, or no such group"""

SUMMARY = "write offsets of groups to a file (ExportZkOffsets)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--output-file",
        metavar="FILE",
        required=True,
        help="the file to write; - is standard output",
    )
    parser.add_argument(
        "--group", action="append", metavar="GROUP", help="only this group; may be repeated"
    )
    parser.add_argument(
        "--csv",
        action="store_true",
        help="TOPIC,PARTITION,OFFSET per line, after the group if there are several, as "
        "kafka-consumer-groups --export writes it",
    )
    parser.add_argument(
        "--storage",
        choices=[*STORAGES],
        default="both",
        help="the storages to read: zookeeper, kafka, or both (default: %(default)s)",
    )
    add_cluster_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Export offsets; return the exit status."""
    with open_offsets(args) as cluster:
        alone = args.storage == "zookeeper"
        found = _read(cluster, args.group or cluster.group_ids(without_kafka=alone), args.storage)
        print_unseen(cluster)
    absent = sorted(group_id for group_id in args.group or () if not found.get(group_id))
    if absent:
        raise ConfigError(
            f"no offsets of {', '.join(absent)} found: check the names; nothing was written"
        )
    offsets = {group_id: of_group for group_id, of_group in found.items() if of_group}
    count = sum(map(len, offsets.values()))
    unfit = [] if args.csv else sorted(offset for offset in offsets if not is_segment(offset))
    if unfit:
        raise ConfigError(
            f"{', '.join(map(repr, unfit))} can't be written in the original's format: give "
            "--csv, or --storage zookeeper, or select other groups with --group; nothing was "
            "written"
        )
    write_output(args.output_file, (csv_text if args.csv else export_text)(offsets))
    groups = "1 group" if len(offsets) == 1 else f"{len(offsets)} groups"
    note(f"{count} offsets of {groups}")
    return 0


def _read(
    cluster: OffsetsCluster, group_ids: Sequence[str], storage: str
) -> dict[str, dict[TopicPartition, int]]:
    """Return the committed offsets of each group.

    Raises:
        ZkConsumerError: an entry can't be read, or a storage does not respond.
    """
    found: dict[str, dict[TopicPartition, int]] = {}
    broken: list[str] = []
    with progress("reading offsets", len(group_ids), unit="groups") as advance:
        for group_id in group_ids:
            storages = cluster.of(
                group_id, with_kafka=storage == "kafka", without_kafka=storage == "zookeeper"
            )
            stored = {
                name: kind.stored(None)
                for name, kind in storages.storages.items()
                if name in STORAGES[storage]
            }
            together = merged(stored)
            broken += [fetched.error for fetched in together.values() if fetched.error is not None]
            found[group_id] = {
                tp: fetched.offset for tp, fetched in together.items() if fetched.offset is not None
            }
            storages.hang_up()
            advance(1)
    if broken:
        more = f"; and {len(broken) - _LISTED} more" if len(broken) > _LISTED else ""
        raise ZkConsumerError(f"nothing was exported: {'; '.join(broken[:_LISTED])}{more}")
    return found
