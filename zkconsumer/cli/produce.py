"""``zkconsumer produce``: writes lines of standard input, or of files, to a topic."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import BinaryIO, Final

from zkconsumer.cli.cluster_access import open_cluster
from zkconsumer.cli.cluster_arguments import add_cluster_arguments
from zkconsumer.cli.consume.settings import key_and_value
from zkconsumer.cli.exit_status import INTERRUPTED
from zkconsumer.cli.formats.produced_lines import ProducedLine, json_line, text_line
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.output import note
from zkconsumer.cli.signals import StopRequested, stop_signals
from zkconsumer.config_security import SECURITY_NAMES
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.produce.kafka_producer import KafkaProducer, RecordMetadata
from zkconsumer.properties_file import load_properties

DESCRIPTION = """\
Write messages to a topic of any Kafka from 0.8 to 4.x: each line of standard input, or of files, is
a message. On a terminal, type them and end with Ctrl-D.

  echo hello | zkconsumer produce --bootstrap-server kafka1:9092 --topic weblog
  zkconsumer produce --zookeeper zk1:2181 --topic weblog --key-separator : access.log
  zkconsumer produce --zookeeper zk1:2181 --topic weblog --json events.ndjson

With --json, each line is an object with "value", and optionally "key", "headers", "partition" and
"timestamp": the output of 'zkconsumer consume --output json' can be written again.
"""
EPILOG = """\
exit status: 0 every line was written; 1 some were not: the number of written lines is printed; 2
wrong usage; 130 interrupted: the lines read before were written"""

_MOST_LINE_BYTES: Final = 64 << 20
_INTERRUPTED_S: Final = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="files to read; - is standard input"
    )
    parser.add_argument("--topic", required=True, metavar="NAME", help="the topic to write to")
    add_cluster_arguments(parser)
    lines = parser.add_argument_group("the messages")
    form = lines.add_mutually_exclusive_group()
    form.add_argument(
        "--key-separator", metavar="TEXT", help="the text before it in each line is the key"
    )
    form.add_argument("--json", action="store_true", help="each line is a JSON object")
    lines.add_argument(
        "--header",
        dest="headers",
        type=key_and_value,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a header of every message (0.11 and later); may be repeated",
    )
    lines.add_argument(
        "--partition",
        type=whole_number("is not a partition number", least=0),
        metavar="N",
        help="write to this partition (default: by key)",
    )
    lines.add_argument(
        "--acks",
        choices=("all", "1"),
        default="all",
        help="which replicas must have a message before it counts as written (default: all)",
    )
    lines.add_argument(
        "--compression-codec",
        "--codec",
        dest="codec",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
        default="none",
        help="the compression codec (default: none)",
    )


def run(args: argparse.Namespace) -> int:
    """Write all lines; return the exit status."""
    if not args.topic.strip():
        raise ConfigError("--topic is empty")
    written = _Written()
    try:
        with ExitStack() as files, stop_signals():
            sources = [_opened(name, files) for name in args.files or ["-"]]
            producer = _producer(args)
            try:
                producer.partitions_for(args.topic)
                _write(args, producer, sources, written)
                producer.close()
            except BaseException:
                producer.close(_INTERRUPTED_S)
                note(f"{written} before that")
                raise
    except StopRequested:
        return INTERRUPTED
    note(written)
    if written.error is not None:
        raise written.error
    return 0


class _Written:
    """Counts the outcomes of messages. Thread: callbacks write, the command reads at the end."""

    def __init__(self) -> None:
        self._count = 0
        self._partitions: set[int] = set()
        self.error: Exception | None = None

    def __str__(self) -> str:
        messages = f"{self._count} message{'' if self._count == 1 else 's'}"
        return f"{messages} written" + (
            f" to {len(self._partitions)} partitions" if len(self._partitions) > 1 else ""
        )

    def add(self, metadata: RecordMetadata) -> None:
        """Count a message."""
        self._count += 1
        self._partitions.add(metadata.partition)

    def failed(self, line: int, error: Exception) -> None:
        """Record that a line was not written; the first error is kept."""
        if self.error is None:
            self.error = ZkConsumerError(f"line {line} was not written: {error}")


def _write(
    args: argparse.Namespace, producer: KafkaProducer, sources: list[BinaryIO], written: _Written
) -> None:
    read = json_line if args.json else partial(text_line, separator=_separator(args))
    own = tuple((name, value.encode()) for name, value in args.headers)
    for number, line in enumerate(_lines(sources), 1):
        if written.error is not None:
            return
        try:
            made: ProducedLine = read(line)
            future = producer.send(
                args.topic,
                made.value,
                made.key,
                [*made.headers, *own],
                args.partition if made.partition is None else made.partition,
                made.timestamp_ms,
            )
        except ConfigError as error:
            # Not a usage error (status 2), since earlier lines were written.
            written.failed(number, error)
            return
        future.add_callback(written.add)
        future.add_errback(written.failed, number)


def _separator(args: argparse.Namespace) -> bytes | None:
    if args.key_separator == "":
        raise ConfigError("--key-separator is empty")
    return None if args.key_separator is None else args.key_separator.encode()


def _lines(sources: list[BinaryIO]) -> Iterator[bytes]:
    for source in sources:
        while line := source.readline(_MOST_LINE_BYTES + 1):
            if len(line) > _MOST_LINE_BYTES:
                raise ZkConsumerError(f"a line is longer than {_MOST_LINE_BYTES} bytes")
            yield line.removesuffix(b"\n").removesuffix(b"\r")


def _opened(name: str, files: ExitStack) -> BinaryIO:
    if name != "-":
        return files.enter_context(Path(name).open("rb"))
    if sys.stdin is None:
        raise ZkConsumerError("standard input is closed: give a file")
    if sys.stdin.isatty():
        note("each line is a message; Ctrl-D ends")
    return sys.stdin.buffer


def _producer(args: argparse.Namespace) -> KafkaProducer:
    file = load_properties(args.command_config) if args.command_config else {}
    with open_cluster(args) as access:
        brokers = access.known_brokers()
    return KafkaProducer(
        {key: value for key, value in file.items() if key in SECURITY_NAMES},
        bootstrap_servers=[
            f"[{broker.host}]:{broker.port}"
            if ":" in broker.host
            else f"{broker.host}:{broker.port}"
            for broker in brokers
        ],
        client_id="zkconsumer-tools",
        acks=args.acks,
        compression_type=args.codec,
        linger_ms=5,
        bootstrap_timeout_ms=args.timeout_ms,
        request_timeout_ms=args.timeout_ms,
        max_block_ms=args.timeout_ms,
        # The broker decides on the maximum size of a message.
        max_request_size=_MOST_LINE_BYTES + (1 << 20),
    )
