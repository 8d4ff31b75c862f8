"""Parses and runs the command line of a drain, for ``zkconsumer drain`` and ``spark-submit``.

No engine is loaded before the arguments are read.
"""

import argparse
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from zkconsumer.drain.choosing import DEFAULT_MEMORY_MB, ENGINES, EngineRequest, SparkOptions
from zkconsumer.drain.decode_settings import SCHEMA_IDS, DecodeSettings
from zkconsumer.drain.layout import DEAD_LETTERS
from zkconsumer.drain.stopping import DrainStopFlag, ignored_signals, stop_signals
from zkconsumer.errors import ConfigError
from zkconsumer.printable import listed
from zkconsumer.properties_file import load_properties
from zkconsumer.schemas.definition import KINDS

if TYPE_CHECKING:
    from zkconsumer.drain.runner import DrainReport
    from zkconsumer.drain.settings import DrainSettings

_KAFKA = "kafka"
STOPPED = 130
"""The exit status that shells report for a program ended by Ctrl-C."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that ``run`` reads."""
    source = parser.add_argument_group("the source")
    source.add_argument(
        "--zookeeper", metavar="HOSTS", help="the ZooKeeper servers: host1:port1,host2:port2/chroot"
    )
    source.add_argument(
        "--bootstrap-servers", metavar="HOSTS", help="brokers, with or without --zookeeper"
    )
    source.add_argument(
        "--topics", type=_names, default=(), metavar="A,B", help="the names of the topics"
    )
    source.add_argument(
        "--topics-pattern",
        metavar="REGEX",
        help="all topics whose whole name matches a Java regular expression",
    )
    source.add_argument(
        "--from",
        dest="starting",
        default="earliest",
        metavar="WHERE",
        help="where partitions start: earliest (the default), latest, group, or offsets as JSON",
    )
    _add_pairs(source, "--option", "a further option of the source, such as kafka.client.id=drain")
    source.add_argument(
        "--command-config",
        metavar="FILE",
        help="a .properties file with security settings: security.protocol, sasl.*, ssl.* for "
        "brokers; zookeeper.auth.*, zookeeper.ssl.* for ZooKeeper",
    )
    _add_target(parser)
    _add_decoding(parser)
    _add_running(parser)


def _add_decoding(parser: argparse.ArgumentParser) -> None:
    decoding = parser.add_argument_group("values with schemas")
    decoding.add_argument(
        "--decode", choices=KINDS, help="decode values by their schemas to a column value_decoded"
    )
    decoding.add_argument("--schema-registry", metavar="URL", help="the registry of the schemas")
    decoding.add_argument(
        "--schema-registry-config",
        metavar="FILE",
        help="a .properties file with settings of the registry client: basic.auth.user.info, "
        "bearer.auth.token, ssl.ca.location and others that Confluent's clients have",
    )
    decoding.add_argument(
        "--schemas",
        metavar="FOLDER",
        help="a folder of schemas instead: 7.avsc, TOPIC-value.avsc, or .json; .desc for protobuf",
    )
    decoding.add_argument(
        "--bare-values",
        action="store_true",
        help="values have no schema id: decode all with the latest schema of TOPIC-value",
    )
    decoding.add_argument(
        "--schema-id",
        choices=SCHEMA_IDS,
        help="column: add a column with the id, as --decode always does; strip: remove the id from "
        "values as well",
    )


def _add_target(parser: argparse.ArgumentParser) -> None:
    target = parser.add_argument_group("the target")
    target.add_argument(
        "--to",
        metavar="PATH",
        help="a folder, s3://, hdfs://, or a path on any file system of Spark; or kafka",
    )
    target.add_argument(
        "--format",
        choices=("parquet", "delta", "iceberg", "json"),
        default="parquet",
        help="the format of the landing (default: parquet)",
    )
    target.add_argument(
        "--target-bootstrap-servers",
        metavar="HOSTS",
        help="with --to kafka: brokers of the target cluster",
    )
    target.add_argument(
        "--state", metavar="PATH", help="with --to kafka: the path of the drain's own files"
    )
    _add_pairs(
        target,
        "--target-option",
        "an option of Spark's Kafka sink, or a storage option of a Delta table",
    )
    target.add_argument(
        "--catalog",
        metavar="NAME",
        help="with --format iceberg: a catalog of pyiceberg's configuration (default: an SQLite "
        "catalog at the drain's path)",
    )
    add_catalog_property(target)
    target.add_argument(
        "--table",
        metavar="NAMESPACE.NAME",
        help="with --format iceberg: the name of the table (default: kafka.messages)",
    )


def add_catalog_property(parser: "argparse._ActionsContainer") -> None:
    """Add the flag for properties of an Iceberg catalog."""
    _add_pairs(
        parser,
        "--catalog-property",
        "a property of the Iceberg catalog, by pyiceberg's name: uri, type, token",
    )


def add_engine(parser: argparse.ArgumentParser, *, is_inner: bool = False) -> None:
    """Add the flags that choose the engine.

    Args:
        parser: the parser to add the flags to.
        is_inner: whether the parser is of a subcommand whose parent has the flags, too, and keeps
            its values.
    """
    unless = argparse.SUPPRESS if is_inner else None
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default=unless or "auto",
        help="local: this process, without Spark or Java; spark; auto (the default): local, unless "
        "Spark is configured or the local engine lacks a requested feature",
    )
    parser.add_argument(
        "--memory",
        dest="memory_mb",
        type=int,
        default=unless,
        metavar="MB",
        help="the approximate memory limit of the local engine's process "
        f"(default: {DEFAULT_MEMORY_MB})",
    )


def _add_running(parser: argparse.ArgumentParser) -> None:
    running = parser.add_argument_group("the run")
    until = running.add_mutually_exclusive_group()
    until.add_argument(
        "--once",
        action="store_true",
        help="end at the log ends as of the start (the default)",
    )
    until.add_argument("--continuous", action="store_true", help="run until stopped")
    running.add_argument("--group", help="the group to which the drain commits its progress")
    running.add_argument(
        "--commit-offsets-to",
        choices=("zookeeper", "kafka", "both", "none"),
        help="the storage of these offsets (default with --group: zookeeper)",
    )
    running.add_argument(
        "--allow-live-group",
        action="store_true",
        help="commit even if the group has live members",
    )
    running.add_argument(
        "--fail-on-data-loss",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="stop if logs lost messages before they could be landed",
    )
    running.add_argument(
        "--max-offsets-per-batch",
        type=int,
        metavar="N",
        help="the approximate maximum size of a batch",
    )
    running.add_argument(
        "--interval-ms",
        type=int,
        metavar="MS",
        help="with --continuous: the pause while there are no new messages",
    )
    running.add_argument(
        "--json",
        action="store_true",
        help="print the progress after each batch, and the result, as one JSON object per line",
    )
    add_engine(parser)
    running.add_argument("--master", metavar="URL", help="Spark's master (default: local[*])")
    running.add_argument(
        "--package",
        action="append",
        default=[],
        metavar="COORDINATE",
        help="a Maven package for Spark to load, such as a file system",
    )
    running.add_argument(
        "--jars", type=_names, default=(), metavar="A,B", help="jars for Spark to load"
    )
    _add_pairs(running, "--conf", "a setting of Spark")


def settings_of(args: argparse.Namespace) -> "DrainSettings":
    """Return the drain's settings from the arguments.

    Raises:
        ConfigError: an argument is missing, or contradicts another.
    """
    from zkconsumer.drain.settings import DrainSettings  # noqa: PLC0415 - loads much

    if args.to is None:
        raise ConfigError("--to is missing: give the path to drain to, or kafka")
    to_kafka = args.to == _KAFKA
    if to_kafka != (args.state is not None):
        raise ConfigError("--state is for --to kafka, and needed there: the drain's own files")
    given = {
        name: value
        for name in ("max_offsets_per_batch", "interval_ms")
        if (value := getattr(args, name)) is not None
    }
    settings = DrainSettings(
        path=args.state if to_kafka else args.to,
        zookeeper=args.zookeeper,
        bootstrap_servers=args.bootstrap_servers,
        topics=args.topics,
        topics_pattern=args.topics_pattern,
        format=_KAFKA if to_kafka else args.format,
        starting=args.starting,
        group=args.group,
        commit_offsets_to=args.commit_offsets_to,
        allow_live_group=args.allow_live_group,
        fail_on_data_loss=args.fail_on_data_loss,
        once=not args.continuous,
        options={**options_of_file(args.command_config), **dict(args.option)},
        target_bootstrap_servers=args.target_bootstrap_servers,
        target_options=dict([*args.target_option, *args.catalog_property]),
        catalog=args.catalog,
        table=args.table,
        decode=_decode_settings(args),
        **given,
    )
    settings.checked()
    return settings


def _decode_settings(args: argparse.Namespace) -> DecodeSettings | None:
    given = (args.decode, args.schema_registry, args.schema_registry_config, args.schemas)
    if not any(given) and not args.bare_values and args.schema_id is None:
        return None
    config = args.schema_registry_config
    return DecodeSettings(
        format=args.decode,
        registry=args.schema_registry,
        registry_options={} if config is None else load_properties(config),
        schemas=args.schemas,
        bare=args.bare_values,
        schema_id=args.schema_id or SCHEMA_IDS[0],
    )


def options_of_file(path: str | None) -> dict[str, str]:
    """Read the file of ``--command-config`` as options of the source; none without a file.

    Raises:
        ConfigError: the file can't be read.
    """
    if path is None:
        return {}
    from zkconsumer.spark.broker_security import options_in_file  # noqa: PLC0415 - loads much

    return options_in_file(load_properties(path))


def run(args: argparse.Namespace) -> int:
    """Drain, and print a summary.

    Returns:
        0; 130 if ``--once`` was stopped before everything was landed.

    Raises:
        ZkConsumerError: the drain failed.
    """
    settings = settings_of(args)
    request = EngineRequest(
        engine=args.engine,
        memory_mb=args.memory_mb,
        path=settings.path,
        format=settings.format,
        spark=SparkOptions(
            master=args.master, settings=dict(args.conf), jars=args.jars, packages=args.package
        ),
    )
    from zkconsumer.drain.launch import run_drain  # noqa: PLC0415 - loads much
    from zkconsumer.drain.opening import opened_engine  # noqa: PLC0415
    from zkconsumer.drain.progress import json_lines, shown  # noqa: PLC0415
    from zkconsumer.drain.slow_batches import reporting_slow_batches  # noqa: PLC0415

    opened = opened_engine("zkconsumer drain", request)
    stop, ignored = DrainStopFlag(), ignored_signals()
    lines = json_lines() if args.json else None
    showing = shown() if lines is None else nullcontext(lines)
    with (
        opened as engine,
        stop_signals(stop, ignored),
        showing as shown_to,
        reporting_slow_batches(shown_to, sys.stderr) as listener,
    ):
        report = run_drain(engine, settings, listener=listener, stop=stop)
    if lines is not None:
        lines.ended(settings.path, report)
    sys.stderr.write(summary(settings.path, report) + "\n")
    if settings.once and not report.finished:
        sys.stderr.write("Stopped before the end: run the same command again to continue\n")
        return STOPPED
    return 0


def summary(path: str, report: "DrainReport") -> str:
    """Describe the result of a run, in a line or two."""
    text = f"Landed {report.rows} messages in {report.batches} batches: {path}"
    if report.dead_lettered:
        text += f"\n{report.dead_lettered} of them could not be decoded: {path}/{DEAD_LETTERS}"
    if report.expired:
        text += f"\nLost before they could be landed: {listed(report.expired)}"
    return text


def _add_pairs(parser: "argparse._ActionsContainer", flag: str, text: str) -> None:
    parser.add_argument(
        flag, action="append", type=_pair, default=[], metavar="KEY=VALUE", help=text
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(",") if (name := part.strip()))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value
