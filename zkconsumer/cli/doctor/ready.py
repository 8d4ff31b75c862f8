"""``zkconsumer doctor --ready-for``: what stands in the way of another release."""

import argparse
import json

from zkconsumer.cli.cluster_access import CommandCluster, required
from zkconsumer.cli.doctor.report import DoctorReport, as_json, as_text
from zkconsumer.cli.output import show
from zkconsumer.cli.tables import json_text, shows_colour
from zkconsumer.properties_file import load_properties
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.doctor.readiness import examine_readiness, steps
from zkconsumer.status.reading.readiness import read_readiness

_BAD = 3


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
    findings = examine_readiness(snapshot, facts, args.ready_for)
    report = DoctorReport(snapshot=snapshot, apart_ms=None, unsure=(), findings=findings)
    is_ready = not any(finding.severity > Severity.NOTE for finding in findings)
    todo = steps(snapshot, facts, args.ready_for)
    if args.format == "json":
        ready = {"release": args.ready_for, "ready": is_ready, "steps": list(todo)}
        show(json_text({**json.loads(as_json(report)), "ready_for": ready}))
    else:
        lines = [f"{number}. {step}" for number, step in enumerate(todo, 1)]
        text = as_text(report, coloured=shows_colour())
        show("\n".join([text, f"The way to {args.ready_for}:", *lines, ""]))
    return 0 if is_ready else _BAD
