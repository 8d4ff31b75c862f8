"""The console consumer's settings, from the command line and the configuration file: pure.

Source: Kafka 0.8.2.2 ``ConsoleConsumer``, and the flags ``--group`` (0.8.1) and ``--timeout-ms``
(0.9). Unlike there, ``auto.offset.reset`` of the file counts unless ``--from-beginning`` is given.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.cli.cluster_arguments import Container
from zkconsumer.cli.consume.format import Formatter, TextFormat, json_line
from zkconsumer.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """The settings of the console consumer.

    Attributes:
        settings: the consumer's settings, by keys with dots; without ``group.id`` if none was
            given.
        topic_filter: selects the topics.
        topic: the single topic given, verbatim; None with a filter.
        formatter: formats messages.
        max_messages: the maximum number of messages; None: no limit.
        from_beginning: whether to start at the earliest message if the group has no offsets.
        delete_offsets: whether to delete the group's committed offsets first.
    """

    settings: Mapping[str, str]
    topic_filter: Whitelist | Blacklist
    topic: str | None
    formatter: Formatter
    max_messages: int | None
    from_beginning: bool
    delete_offsets: bool

    @property
    def group_id(self) -> str | None:
        """The given group id; None if one is to be generated."""
        return self.settings.get("group.id")

    @property
    def has_coordinator(self) -> bool:
        """Whether the group is a coordinator's, not ZooKeeper's."""
        return "bootstrap.servers" in self.settings


def console_settings(args: argparse.Namespace, file: Mapping[str, str]) -> ConsoleSettings:
    """Combine the command line and the settings of the configuration file.

    Raises:
        ConfigError: options contradict each other, or a filter or property is invalid.
    """
    settings = {"auto.offset.reset": "largest", **file}
    if args.zookeeper is not None:
        settings["zookeeper.connect"] = args.zookeeper
    if args.bootstrap_server is not None:
        settings["bootstrap.servers"] = args.bootstrap_server
    if {"zookeeper.connect", "bootstrap.servers"} <= settings.keys():
        raise ConfigError(
            "zookeeper.connect and bootstrap.servers are both given: the group is either in "
            "ZooKeeper or at the brokers"
        )
    if args.group is not None:
        if file.get("group.id", args.group) != args.group:
            raise ConfigError(
                f"group.id is {file['group.id']} in the file and {args.group} in --group: "
                "give it once"
            )
        settings["group.id"] = args.group
    if args.from_beginning:
        settings["auto.offset.reset"] = "smallest"
    if args.timeout_ms is not None:
        settings["consumer.timeout.ms"] = str(args.timeout_ms)
    return ConsoleSettings(
        settings=settings,
        topic_filter=_topic_filter(args),
        topic=args.topic,
        formatter=_formatter(args),
        max_messages=args.max_messages,
        from_beginning=args.from_beginning,
        delete_offsets=args.delete_consumer_offsets,
    )


def _topic_filter(args: argparse.Namespace) -> Whitelist | Blacklist:
    """Return the topic as a filter, as the original does with its whitelist."""
    if args.blacklist is not None:
        return Blacklist(args.blacklist)
    return Whitelist(args.topic if args.whitelist is None else args.whitelist)


def _formatter(args: argparse.Namespace) -> Formatter:
    if args.output == "json":
        if args.property:
            raise ConfigError("--property is for the text output: it can't be combined with JSON")
        return json_line
    return TextFormat.from_properties(dict(args.property))


def add_property_argument(container: Container) -> None:
    """Add ``--property`` of ``TextFormat``."""
    container.add_argument(
        "--property",
        type=key_and_value,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="for the text output: print.key=true, key.separator=TEXT, line.separator=TEXT",
    )


def key_and_value(text: str) -> tuple[str, str]:
    """Parse ``KEY=VALUE``.

    Raises:
        argparse.ArgumentTypeError: there is no ``=``, or nothing before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def count_of_messages(text: str) -> int | None:
    """Parse a number of messages; a negative one means no limit, as in the original.

    Raises:
        argparse.ArgumentTypeError: the text is no number.
    """
    try:
        count = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of messages") from None
    return None if count < 0 else count
