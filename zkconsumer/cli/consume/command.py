"""``zkconsumer consume``: the console consumer.

Source: Kafka 0.8.2.2 ``ConsoleConsumer``.
"""

import argparse
import logging
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from zkconsumer.browse.decoding import FORMS
from zkconsumer.cli.browsing import add_registry_argument
from zkconsumer.cli.cluster_access import open_store
from zkconsumer.cli.cluster_arguments import add_consumer_config_argument, add_zookeeper_argument
from zkconsumer.cli.consume.browsing import browse, is_browsing
from zkconsumer.cli.consume.copying import Copier, CurrentMessage
from zkconsumer.cli.consume.settings import (
    ConsoleSettings,
    add_property_argument,
    console_settings,
    count_of_messages,
)
from zkconsumer.cli.groups.removal import GroupRemoval
from zkconsumer.cli.measured import add_metrics_arguments, serving_metrics, tracers
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cli.output import Output, OutputClosed, discard_standard_output
from zkconsumer.cli.pipes import stop_ourselves, watching_reader
from zkconsumer.cli.signals import StopRequested, StopSignals, stop_signals
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.errors import ConfigError, ConsumerTimeout, ZkConsumerError
from zkconsumer.metrics.consumer import ConsumerMetrics
from zkconsumer.properties_file import load_properties
from zkconsumer.zk.live_brokers import require_cluster

log = logging.getLogger(__name__)

_GENERATED_GROUPS = 100_000
_TAIL = 10

DESCRIPTION = (
    "Read topics as a member of a consumer group, and print their messages. Printed messages are "
    "committed; Ctrl-C, SIGTERM or a closed pipe end it cleanly."
)
ALLOW_ABBREV = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_zookeeper_argument(parser)
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOSTS",
        help="brokers of 0.9 or later, host1:port1,host2:port2, which then coordinate the group; "
        "--topic is a plain name then",
    )
    topics = parser.add_mutually_exclusive_group(required=True)
    topics.add_argument(
        "--topic", help="the topic to read (a Java regular expression, as in the original)"
    )
    topics.add_argument(
        "--whitelist", metavar="REGEX", help="read the topics whose whole name matches"
    )
    topics.add_argument("--blacklist", metavar="REGEX", help="read all other topics")
    parser.add_argument(
        "--group",
        metavar="GROUP",
        help="the consumer group (default: a new one, deleted at the end)",
    )
    add_consumer_config_argument(parser)
    parser.add_argument(
        "--from-beginning",
        action="store_true",
        help="start at the earliest message if the group has no offsets (default: "
        "auto.offset.reset of the file, else the latest)",
    )
    parser.add_argument(
        "--delete-consumer-offsets",
        action="store_true",
        help="first delete the group's data in ZooKeeper, including its offsets",
    )
    _add_browsing(parser)
    _add_output(parser)
    add_metrics_arguments(parser)


def _add_browsing(parser: argparse.ArgumentParser) -> None:
    """Add the options for looking at messages without a group."""
    group = parser.add_argument_group(
        "browsing: no group is joined, nothing is committed; --topic is a plain name here"
    )
    starts = group.add_mutually_exclusive_group()
    starts.add_argument(
        "--tail",
        type=whole_number("is not a number of messages", digits=7),
        nargs="?",
        const=_TAIL,
        metavar="N",
        help="the last N messages of the topic (default: 10), then end",
    )
    starts.add_argument(
        "--from-time",
        metavar="TIME",
        help="messages that are not older than this time, up to --max-messages (default: 1000): "
        "ISO 8601, in UTC if it has no time zone, milliseconds since 1970, or as in '15m ago'",
    )
    group.add_argument(
        "--follow",
        action="store_true",
        help="with --tail: continue with new messages until Ctrl-C, or the limits --max-messages "
        "and --timeout-ms",
    )
    group.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="FILTER",
        help="only those with: TEXT, key:TEXT, value:TEXT, header:NAME=TEXT, or a path into JSON "
        "or Avro, such as '.user.id == 42'; may be repeated: messages must pass all",
    )
    group.add_argument(
        "--show-as",
        choices=FORMS,
        default="auto",
        help="show keys, values and headers as text or in hex (default: decoded if they are JSON "
        "or Avro, else as text, else in hex)",
    )
    add_registry_argument(group)


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options for the amount and form of the output."""
    parser.add_argument(
        "--max-messages", type=count_of_messages, metavar="N", help="end after N messages"
    )
    parser.add_argument(
        "--timeout-ms", type=int, metavar="MS", help="end when no message has arrived for this long"
    )
    parser.add_argument(
        "--output",
        choices=("text", "json", "table"),
        help="the output format (default: text; table for --tail and --from-time on a terminal)",
    )
    add_property_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Consume until stopped; return 0.

    Raises:
        ZkConsumerError: consuming failed; messages printed before are committed.
    """
    if is_browsing(args):
        return browse(args)
    if args.filter or args.output == "table" or args.show_as != "auto":
        raise ConfigError("--filter, --show-as and --output table need --tail or --from-time")
    file = load_properties(args.consumer_config) if args.consumer_config else {}
    console = console_settings(args, file)
    if not console.has_coordinator and "zookeeper.connect" not in console.settings:
        raise ConfigError(
            "zookeeper.connect is required: give --zookeeper HOST:PORT/CHROOT, or "
            "--bootstrap-server HOST:PORT for a group with a coordinator"
        )
    output, metrics = Output(), ConsumerMetrics()
    try:
        with (
            serving_metrics(args, metrics.families),
            stop_signals() as stop,
            watching_reader(output.descriptor, stop_ourselves),
        ):
            if console.has_coordinator:
                # Loaded only here: the other consumer does not need it.
                from zkconsumer.cli.consume.polled import consume_polled  # noqa: PLC0415

                consume_polled(console, output, stop, metrics)
            elif console.group_id is not None:
                consume(
                    console,
                    ConsumerConfig.from_properties(console.settings),
                    output,
                    stop,
                    metrics,
                )
            else:
                with _made_up_group(console.settings) as config:
                    consume(console, config, output, stop, metrics)
    except StopRequested:
        log.debug("stopped by a signal")
    except OutputClosed:
        discard_standard_output()
    finally:
        output.close()
    return 0


def consume(
    console: ConsoleSettings,
    config: ConsumerConfig,
    output: Output,
    stop: StopSignals,
    metrics: ConsumerMetrics,
) -> None:
    """Join the group and print until the end.

    Raises:
        StopRequested: a signal requested the end.
        OutputClosed: the reader of the output has gone.
        ZkConsumerError: consuming failed.
    """
    with open_store(config) as store:
        require_cluster(store, config.zookeeper_connect)
        if console.delete_offsets or console.from_beginning:
            _prepare(console, GroupRemoval(store, config.group_id), config.group_id)
    copier = Copier(console.formatter, output.write)
    stop.pending = copier.pending
    with ZookeeperConsumerConnector(config, observers=tracers()) as connector:
        metrics.add(connector)
        try:
            (stream,) = connector.create_message_streams_by_filter(console.topic_filter)
            copier.copy(stream, console.max_messages)
        except ConsumerTimeout as error:
            log.debug("%s", error)
        finally:
            stop.leave()
            # Closing commits only messages whose successor was requested: the last line has none.
            if (
                copier.cursor is CurrentMessage.WRITTEN
                and copier.count
                and config.auto_commit_enable
            ):
                connector.commit_offsets()
            print(f"Consumed {copier.count} messages", file=sys.stderr)


def _prepare(console: ConsoleSettings, nodes: GroupRemoval, group_id: str) -> None:
    if console.delete_offsets:
        nodes.everything_unless_live()
    elif nodes.has_offsets():
        raise ConfigError(
            f"group {group_id} has offsets already, so --from-beginning would have no effect: "
            "give --delete-consumer-offsets to delete them, or use another group"
        )


@contextmanager
def _made_up_group(settings: Mapping[str, str]) -> Iterator[ConsumerConfig]:
    """Yield a configuration with a new group, which is deleted afterwards."""
    config = ConsumerConfig.from_properties({**settings, "group.id": "console-consumer"})
    with open_store(config) as store:
        group_id = free_group(lambda group: GroupRemoval(store, group).exists(), random.randrange)
    config = replace(config, group_id=group_id, client_id=settings.get("client.id", group_id))
    try:
        yield config
    finally:
        try:
            with open_store(config) as store:
                GroupRemoval(store, group_id).everything_unless_live()
        except ZkConsumerError as error:
            log.warning("/consumers/%s stays behind: %s", group_id, error)


def free_group(is_taken: Callable[[str], bool], draw: Callable[[int], int]) -> str:
    """Return an unused, generated group id.

    Args:
        is_taken: returns whether a group has nodes.
        draw: returns a random number below its argument.
    """
    for _ in range(100):
        group_id = f"console-consumer-{draw(_GENERATED_GROUPS)}"
        if not is_taken(group_id):
            return group_id
    raise ConfigError("could not generate an unused group id: give one with --group")
