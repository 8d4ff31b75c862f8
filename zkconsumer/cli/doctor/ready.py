"""``zkconsumer doctor --ready-for``: what blocks an upgrade to another release."""

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, TextIO
from urllib.parse import SplitResult, urlsplit

from zkconsumer.cli.cluster_access import CommandCluster, required
from zkconsumer.cli.doctor.report import DoctorReport, as_json, as_text, numbered_lines
from zkconsumer.cli.exit_status import NOT_WELL
from zkconsumer.cli.output import show
from zkconsumer.cli.tables import json_text, shows_colour
from zkconsumer.clock import Clock
from zkconsumer.errors import ConfigError, SandboxError
from zkconsumer.nearest import did_you_mean
from zkconsumer.properties_file import load_properties
from zkconsumer.sandbox.java import find_java
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.doctor.readiness import examine_readiness, paths_for
from zkconsumer.status.doctor.request_counts import RequestMetrics
from zkconsumer.status.doctor.request_logs import TAIL_CHARS, RequestLog, read_request_log
from zkconsumer.status.doctor.upgrade_paths import NEXT, UpgradeMethod, UpgradePath
from zkconsumer.status.model import ClusterSnapshot
from zkconsumer.status.reading.readiness import read_readiness
from zkconsumer.status.reading.request_metrics import (
    JMX_ADDRESS,
    Jmx,
    read_request_metrics,
    registered_jmx,
)
from zkconsumer.wire.releases import Release

_REFUSING: Final[Release] = (4, 0)
"""The first release that rejects old versions of requests."""
_JMX_SETTINGS: Final = (
    *("user", "password", "ssl"),
    *(f"javax.net.ssl.trustStore{rest}" for rest in ("", "Password", "Type")),
    *(f"javax.net.ssl.keyStore{rest}" for rest in ("", "Password", "Type")),
)
_LINE_CHARS: Final = 1 << 16
"""The length of the beginning of a line that is kept; longer lines also keep their end."""


def add_readiness_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``--ready-for``."""
    ready = parser.add_argument_group("upgrading")
    ready.add_argument(
        "--ready-for",
        choices=list(NEXT),
        metavar="RELEASE",
        help=(
            "report what blocks an upgrade to this release of Kafka, 3.9 or 4.0, and the steps "
            "to it"
        ),
    )
    ready.add_argument(
        "--broker-properties",
        metavar="FILE",
        help="with --ready-for: the server.properties of a broker, to find settings that will be "
        "removed",
    )
    ready.add_argument(
        "--jmx",
        action="append",
        default=[],
        type=_jmx_address,
        metavar="HOST:PORT",
        help="with --ready-for 4.0: the JMX address of a broker, which counts requests that "
        "Kafka 4 rejects; may be repeated; needs a JDK (default: the registered addresses)",
    )
    ready.add_argument(
        "--jmx-config",
        metavar="FILE",
        help="with --jmx: a .properties file with user and password, ssl=true, "
        "javax.net.ssl.trustStore and the like",
    )
    ready.add_argument(
        "--metrics-url",
        action="append",
        default=[],
        type=_metrics_url,
        metavar="URL",
        help="the same by HTTP: a broker's Prometheus JMX exporter, or Jolokia "
        "(http://host:port/jolokia); may be repeated",
    )
    ready.add_argument(
        "--request-log",
        action="append",
        default=[],
        metavar="FILE",
        help="the same from a broker's kafka-request.log (kafka.request.logger at DEBUG, in "
        "0.10.2 at TRACE), which names the clients; may be repeated",
    )


def check_readiness_options(args: argparse.Namespace) -> None:
    """Check that the options have an effect for the requested release, and that files exist.

    Raises:
        ConfigError: an option has no effect, or a file can't be used.
    """
    requests = args.jmx or args.jmx_config or args.metrics_url or args.request_log
    if args.ready_for is None and (args.broker_properties or requests):
        raise ConfigError(
            "--broker-properties, --jmx, --metrics-url and --request-log need --ready-for"
        )
    if requests and NEXT[args.ready_for] < _REFUSING:
        raise ConfigError(
            "--jmx, --metrics-url and --request-log find requests that Kafka 4 rejects: "
            f"{args.ready_for} rejects none of them, so give --ready-for 4.0 or leave them out"
        )
    for file in args.request_log:
        if not os.access(file, os.R_OK) or Path(file).is_dir():
            raise ConfigError(f"--request-log {file} is not a readable file")
    if args.jmx_config is not None:
        if not args.jmx:  # addresses from ZooKeeper must not get the password
            raise ConfigError(
                "--jmx-config needs --jmx, which names the servers that may see the password"
            )
        settings = load_properties(args.jmx_config)
        if not Path(args.jmx_config).is_file():  # Java reads it again
            raise ConfigError(f"{args.jmx_config} is not a regular file, which can be read twice")
        _check_jmx_settings(args.jmx_config, settings)
    if args.ready_for is not None and (args.fix or args.group):
        raise ConfigError("--ready-for examines the whole cluster, and repairs nothing")


def _check_jmx_settings(file: str, settings: Mapping[str, str]) -> None:
    for name in settings:
        if name not in _JMX_SETTINGS:
            suggested = did_you_mean(name, _JMX_SETTINGS)
            raise ConfigError(f"{file}: unknown JMX setting {name}{suggested}")
    if settings.get("ssl", "false") not in {"true", "false"}:  # Java would not use TLS
        raise ConfigError(f"{file}: ssl has to be true or false, with nothing after it")
    if ("user" in settings) != ("password" in settings):
        raise ConfigError(f"{file}: user and password need each other")


def _jmx_address(text: str) -> str:
    if not JMX_ADDRESS.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return text


def _metrics_url(text: str) -> SplitResult:
    try:
        url = urlsplit(text)
        is_valid = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        is_valid, url = False, urlsplit("")
    if not is_valid or not text.isascii() or not text.isprintable() or " " in text or "@" in text:
        raise argparse.ArgumentTypeError("expected http(s)://host:port/path, and no password in it")
    return url


def show_readiness(args: argparse.Namespace, access: CommandCluster) -> int:
    """Read the cluster, and print what blocks the upgrade; return the exit status.

    Raises:
        ZkConsumerError: the cluster can't be read.
        OSError: a file can't be read.
    """
    file = args.broker_properties
    settings = None if file is None else load_properties(file)
    snapshot = required(access.reader().read())
    view = access.client.view(
        [topic.name for topic in snapshot.topics if not topic.problem],
        timeout_ms=args.timeout_ms,
    )
    facts = read_readiness(
        snapshot,
        view,
        access.dialer,
        timeout_ms=args.timeout_ms,
        clock=access.clock,
        settings=settings,
    )
    if NEXT[args.ready_for] >= _REFUSING:
        metrics = _metrics(args, snapshot, access.clock)
        facts = replace(
            facts, metrics=metrics, logs=tuple(map(request_log, dict.fromkeys(args.request_log)))
        )
    findings = examine_readiness(snapshot, facts, args.ready_for)
    report = DoctorReport(snapshot=snapshot, apart_ms=None, unsure=(), findings=findings)
    is_ready = not any(finding.severity > Severity.NOTE for finding in findings)
    found = paths_for(snapshot, facts, args.ready_for)
    if args.format == "json":
        shown = [{"method": path.method, "steps": list(path.steps)} for path in found]
        ready = {"release": args.ready_for, "ready": is_ready, "paths": shown}
        show(json_text({**as_json(report), "ready_for": ready}))
    else:
        text = as_text(report, coloured=shows_colour())
        show("\n".join([text, *_path_lines(found, args.ready_for)]))
    return 0 if is_ready else NOT_WELL


def _path_lines(found: Sequence[UpgradePath], wanted: str) -> Iterator[str]:
    if not found:
        yield f"The brokers already run {wanted} or later.\n"
    for number, path in enumerate(found):
        how = "by a mirror" if path.method is UpgradeMethod.MIRROR else "in place"
        yield f"Or {how}:" if number else f"Upgrade path to {wanted}, {how}:"
        yield from numbered_lines(path.steps)
        yield ""


def _metrics(
    args: argparse.Namespace, snapshot: ClusterSnapshot, clock: Clock
) -> tuple[RequestMetrics, ...]:
    given = {address: f"JMX at {address}" for address in args.jmx}
    places = given if given or args.metrics_url else registered_jmx(snapshot.brokers)
    return read_request_metrics(
        Jmx(places, _java(), args.jmx_config),
        list(dict.fromkeys(args.metrics_url)),
        brokers=snapshot.brokers,
        timeout_ms=args.timeout_ms,
        clock=clock,
    )


def request_log(file: str) -> RequestLog:
    """Read one request log, line by line in bounded memory.

    Raises:
        OSError: it can't be read.
    """
    # Client ids are arbitrary text: only "\n", which the log itself writes, ends a line.
    with open(file, encoding="utf-8", errors="replace", newline="\n") as opened:
        return read_request_log(file, _lines(opened))


def _lines(opened: TextIO) -> Iterator[str]:
    """Yield the lines in bounded memory; of a long line only its beginning and its end."""
    while line := opened.readline(_LINE_CHARS):
        end = ""
        while not (end or line).endswith("\n") and (piece := opened.readline(_LINE_CHARS)):
            end = (end + piece)[-TAIL_CHARS:]
        yield line + end


def _java() -> Path | str:
    """Return the path of the Java that reads JMX, or why there is none."""
    try:
        return find_java(os.environ, bundled=lambda: None)
    except SandboxError:
        return "none found in JAVA_HOME or on PATH"
