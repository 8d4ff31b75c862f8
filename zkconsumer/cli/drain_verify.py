"""``zkconsumer drain verify``: proves what a drain landed; the exit status is the result."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from zkconsumer.cli.output import report_error, show
from zkconsumer.drain import layout
from zkconsumer.drain.choosing import EngineRequest, SparkOptions, local_path
from zkconsumer.drain.command import add_catalog_property, add_engine, options_of_file
from zkconsumer.errors import ConfigError, ZkConsumerError

_COULD_NOT_TELL = 2

DESCRIPTION = """\
Read every message that a drain landed, and prove that each offset is there exactly once and
unchanged. With --zookeeper or --bootstrap-servers, compare with the cluster, too.

Exit status: 0 proven, 1 not proven, 2 could not tell.
"""

SUMMARY = "prove that every offset was landed exactly once"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("path", metavar="PATH", help="the value of drain's --to or --state")
    # 'drain' has these options, too, and they may precede 'verify': a default would overwrite them.
    for flag, metavar, text in (
        ("--zookeeper", "HOSTS", "compare with this cluster"),
        ("--bootstrap-servers", "HOSTS", "the same, by addresses of its brokers"),
        ("--command-config", "FILE", "a .properties file with its security settings"),
    ):
        parser.add_argument(flag, metavar=metavar, default=argparse.SUPPRESS, help=text)
    parser.add_argument(
        "--json",
        action="store_true",
        default=argparse.SUPPRESS,
        help="print JSON instead of a table",
    )
    for name, what in (("--option", "the source"), ("--target-option", "the mirror's target")):
        parser.add_argument(
            name,
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"a further option for reading from {what}",
        )
    add_catalog_property(parser)
    add_engine(parser, is_inner=True)
    parser.add_argument(
        "--master",
        metavar="URL",
        default=argparse.SUPPRESS,
        help="the master of Spark (default: this machine)",
    )
    parser.add_argument(
        "--jars", metavar="FILES", help="jars for Spark to load, separated by commas"
    )
    parser.add_argument(
        "--package",
        action="append",
        default=[],
        metavar="COORDINATES",
        help="a Maven package for Spark",
    )
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="a setting of Spark"
    )


def run(args: argparse.Namespace) -> int:
    """Verify and print the result; return the exit status."""
    try:
        status, report = _verify(args)
    except ZkConsumerError as error:
        # The exit status of ``main`` for errors would mean "not proven" here.
        report_error(error)
        return _COULD_NOT_TELL
    except Exception as error:  # noqa: BLE001 - a fault of ours says nothing of the drain
        report_error(error, f"unexpected {error!r}: please report it")
        return _COULD_NOT_TELL
    show(report)
    return status


def _verify(args: argparse.Namespace) -> tuple[int, str]:
    """Return the exit status and the output."""
    cluster = _cluster(args)
    target = _options("--target-option", args.target_option) | dict(args.catalog_property)
    request = EngineRequest(
        engine=args.engine,
        memory_mb=args.memory_mb,
        path=args.path,
        format=_format_at(args.path),
        spark=SparkOptions(
            master=args.master,
            settings=_options("--conf", args.conf),
            jars=args.jars.split(",") if args.jars else (),
            packages=args.package,
        ),
    )
    from zkconsumer.drain.opening import opened_engine  # noqa: PLC0415 - loads much
    from zkconsumer.drain.proving.report import as_json, as_text  # noqa: PLC0415
    from zkconsumer.drain.proving.verify import prove  # noqa: PLC0415

    with opened_engine("zkconsumer drain verify", request) as engine:
        storage = engine.storage(args.path)
        proof = prove(engine, storage, cluster=cluster, target_options=target)
    return proof.outcome.value, (as_json if args.json else as_text)(proof)


def _format_at(path: str) -> str | None:
    """Return the format of the drain in a local folder; None if there is none."""
    from zkconsumer.drain.identity import DrainIdentity  # noqa: PLC0415 - loads much

    try:
        data = (Path(local_path(path)) / layout.IDENTITY).read_bytes()
    except OSError:
        return None
    return DrainIdentity.from_bytes(layout.IDENTITY, data).format


def _cluster(args: argparse.Namespace) -> Mapping[str, str] | None:
    options = _options("--option", args.option)
    if args.zookeeper is not None:
        options["zookeeper.connect"] = args.zookeeper
    if args.bootstrap_servers is not None:
        options["kafka.bootstrap.servers"] = args.bootstrap_servers
    elif args.zookeeper is None and not options:
        return None
    return {**options_of_file(args.command_config), **options}


def _options(flag: str, given: list[str]) -> dict[str, str]:
    options = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"{flag} {text!r}: give it as NAME=VALUE")
        options[name.strip()] = value.strip()
    return options
