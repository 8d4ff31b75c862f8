"""``zkconsumer doctor --ready-for``: what stands in the way of another release."""

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from zkconsumer.cli.cluster_access import CommandCluster, required
from zkconsumer.cli.doctor.report import DoctorReport, as_json, as_text, numbered_lines
from zkconsumer.cli.exit_status import NOT_WELL
from zkconsumer.cli.output import show
from zkconsumer.cli.tables import json_text, shows_colour
from zkconsumer.clock import Clock
from zkconsumer.errors import SandboxError
from zkconsumer.properties_file import load_properties
from zkconsumer.sandbox.java import find_java
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.doctor.readiness import NEXT, examine_readiness, steps
from zkconsumer.status.doctor.request_counts import RequestMetrics
from zkconsumer.status.model import ClusterSnapshot
from zkconsumer.status.reading.readiness import read_readiness
from zkconsumer.status.reading.request_metrics import (
    JMX_ADDRESS,
    read_request_metrics,
    registered_jmx,
)


def add_readiness_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``--ready-for``."""
    ready = parser.add_argument_group("leaving this release")
    ready.add_argument(
        "--ready-for",
        choices=list(NEXT),
        metavar="RELEASE",
        help="say what stands in the way of this release of Kafka, 3.9 or 4.0, and the steps there",
    )
    ready.add_argument(
        "--broker-properties",
        metavar="FILE",
        help="with --ready-for: the server.properties of a broker, to look for settings that are "
        "gone",
    )
    ready.add_argument(
        "--jmx",
        action="append",
        default=[],
        type=_jmx_address,
        metavar="HOST:PORT",
        help="with --ready-for 4.0: the JMX of a broker, which counts requests that Kafka 4 "
        "refuses; can be given again; it takes a JDK (default: what brokers have registered)",
    )
    ready.add_argument(
        "--metrics-url",
        action="append",
        default=[],
        type=_metrics_url,
        metavar="URL",
        help="the same by HTTP: a broker's Prometheus JMX exporter, or Jolokia "
        "(http://host:port/jolokia); can be given again",
    )


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
    """Read, judge and print; return the exit status.

    Raises:
        ZkConsumerError: the cluster can't be read.
        OSError: the file can't be read.
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
    if NEXT[args.ready_for] >= (4, 0):
        facts = replace(facts, metrics=_metrics(args, snapshot, access.clock))
    findings = examine_readiness(snapshot, facts, args.ready_for)
    report = DoctorReport(snapshot=snapshot, apart_ms=None, unsure=(), findings=findings)
    is_ready = not any(finding.severity > Severity.NOTE for finding in findings)
    todo = steps(snapshot, facts, args.ready_for)
    if args.format == "json":
        ready = {"release": args.ready_for, "ready": is_ready, "steps": list(todo)}
        show(json_text({**json.loads(as_json(report)), "ready_for": ready}))
    else:
        text = as_text(report, coloured=shows_colour())
        show("\n".join([text, f"The way to {args.ready_for}:", *numbered_lines(todo), ""]))
    return 0 if is_ready else NOT_WELL


def _metrics(
    args: argparse.Namespace, snapshot: ClusterSnapshot, clock: Clock
) -> tuple[RequestMetrics, ...]:
    given = {address: f"JMX at {address}" for address in args.jmx}
    return read_request_metrics(
        given if given or args.metrics_url else registered_jmx(snapshot.brokers),
        list(dict.fromkeys(args.metrics_url)),
        java=_java(),
        timeout_ms=args.timeout_ms,
        clock=clock,
    )


def _java() -> Path | str:
    """Return the Java that reads JMX, or why there is none."""
    try:
        return find_java(os.environ, bundled=lambda: None)
    except SandboxError:
        return "none is in JAVA_HOME or on PATH"
