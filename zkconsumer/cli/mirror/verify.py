"""``zkconsumer mirror verify``: compares both clusters by the offsets file of a mirror."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from zkconsumer.cli.cluster_arguments import add_consumer_config_argument
from zkconsumer.cli.exit_status import NOT_WELL
from zkconsumer.cli.progress import progress
from zkconsumer.cli.tables import Cell, Colour, Painted, add_format_arguments, json_text, table
from zkconsumer.config_security import SECURITY_PREFIXES
from zkconsumer.mirror.proof import MirroredPartition
from zkconsumer.mirror.settings import consumer_settings
from zkconsumer.mirror.verify import MirrorProof, verify
from zkconsumer.properties_file import load_properties

DESCRIPTION = """\
Read every message of the source that a mirror has committed, look it up in the target at the offset
in the mirror's offsets file, and compare key and value. Count missing messages, duplicates, and
messages that are no longer in a log. Nothing is written, and nothing is committed."""

EPILOG = """\
example:
  zkconsumer mirror verify --offsets-file orders.jsonl --zookeeper zk1:2181/kafka --group move \\
      --target-bootstrap-servers new1:9092

exit status: 0 every message is there; 1 it could not be verified; 2 wrong usage; 3 a message is
missing, different, or gone from a log."""

SUMMARY = "prove that everything arrived, from the offsets file of a mirror"


def add_offsets_file_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--offsets-file``, a list of paths, for commands that read offsets files of mirrors."""
    parser.add_argument(
        "--offsets-file",
        type=Path,
        required=True,
        action="append",
        metavar="FILE",
        help="the mirror's file; repeat it for each mirror of the group",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_offsets_file_argument(parser)
    parser.add_argument("--group", metavar="GROUP", required=True, help="the mirror's group")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--zookeeper",
        metavar="HOSTS",
        help="ZooKeeper of the source: host1:port1,host2:port2/chroot",
    )
    source.add_argument(
        "--source-bootstrap-servers",
        metavar="HOSTS",
        help="brokers of the source, if they coordinate the group",
    )
    add_consumer_config_argument(parser)
    parser.add_argument(
        "--target-bootstrap-servers", required=True, metavar="HOSTS", help="brokers of the target"
    )
    parser.add_argument(
        "--target-config",
        metavar="FILE",
        help="a .properties file with security settings of the target: security.protocol, sasl.*, "
        "ssl.*",
    )
    add_format_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Compare the clusters; return 3 if the mirror is not proven."""
    file = load_properties(args.consumer_config) if args.consumer_config else {}
    source = {**consumer_settings(file).settings, "group.id": args.group}
    if args.zookeeper:
        source["zookeeper.connect"] = args.zookeeper
    else:
        source["bootstrap.servers"] = args.source_bootstrap_servers
    with progress("compared", None, unit="messages") as advance:
        proof = verify(args.offsets_file, source, _target(args), advance=advance)
    if args.format == "json":
        sys.stdout.write(json_text(json_of(proof)))
    else:
        sys.stdout.write(text_of(proof))
    return 0 if proof.is_proven else NOT_WELL


def _target(args: argparse.Namespace) -> Mapping[str, object]:
    """Return the settings of a consumer that reads the target."""
    file = load_properties(args.target_config) if args.target_config else {}
    security = {k: v for k, v in file.items() if k.startswith(SECURITY_PREFIXES)}
    return {**security, "bootstrap.servers": args.target_bootstrap_servers}


_COLUMNS: Final = (
    *("TOPIC", ">PARTITION", ">FROM", ">UNTIL", ">MESSAGES", ">MIRRORED", ">COPIES"),
    *(">MISSING", ">DIFFERENT", ">UNPROVEN"),
)


def text_of(proof: MirrorProof) -> str:
    """Return a row for each partition, then the first faults, and the result."""
    lines = [table(_COLUMNS, map(_row, proof.partitions))]
    for partition in proof.partitions:
        lines += [f"{partition.source}: {example}\n" for example in partition.examples]
    others = sum(proof.offsets_without_line.values())
    if others:
        lines.append(
            f"{others} offsets of the target are in no line: copies whose acknowledgement was "
            "lost, or messages of others\n"
        )
    for tp, count in proof.claimed_twice.items():
        lines.append(
            f"{tp}: several lines name the same {count} offsets of the target: it was truncated or "
            "created again, and lost what was there first\n"
        )
    if proof.is_proven:
        lines.append("every committed message is in the target\n")
    else:
        lines.append("NOT every committed message is in the target\n")
    return "".join(lines)


def _row(partition: MirroredPartition) -> list[Cell]:
    bad = (partition.missing, partition.different, partition.unproven)
    return [
        *(partition.source.topic, partition.source.partition, partition.start, partition.until),
        *(partition.messages, partition.mirrored, partition.copies),
        *(Painted(str(count), Colour.BAD if count else None) for count in bad),
    ]


def json_of(proof: MirrorProof) -> dict[str, object]:
    """Return the proof as a JSON object."""
    return {
        "proven": proof.is_proven,
        "partitions": [
            {
                **partition.source._asdict(),
                **{name: value for name, value in asdict(partition).items() if name != "source"},
            }
            for partition in proof.partitions
        ],
        "not_in_offsets_files": [
            {**tp._asdict(), "offsets": count} for tp, count in proof.offsets_without_line.items()
        ],
        "claimed_twice": [
            {**tp._asdict(), "offsets": count} for tp, count in proof.claimed_twice.items()
        ],
    }
