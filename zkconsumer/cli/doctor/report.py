"""The output of ``zkconsumer doctor``: diagnoses as text or JSON."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zkconsumer.cli.tables import Colour, instant, paint, sentence, terminal_width
from zkconsumer.printable import printable
from zkconsumer.status.doctor.diagnosis import Diagnosis, Severity, counted
from zkconsumer.status.doctor.fix import Write
from zkconsumer.status.doctor.headline import headline_text
from zkconsumer.status.model import ClusterSnapshot

_WIDTH = 100
_COLOURS = {
    Severity.ERROR: Colour.BAD,
    Severity.WARNING: Colour.WARN,
    Severity.NOTE: Colour.DIM,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """The result of the doctor.

    Attributes:
        snapshot: the last snapshot.
        apart_ms: the time since the first snapshot, ms; None if there was only one.
        unsure: groups for which a second snapshot is needed, and why.
        findings: the diagnoses, the worst first.
    """

    snapshot: ClusterSnapshot
    apart_ms: int | None
    unsure: Sequence[str]
    findings: Sequence[Diagnosis]


def as_text(report: DoctorReport, *, coloured: bool) -> str:
    """Return all diagnoses, then their count; ids and paths are never truncated."""
    blocks = [
        "\n".join(finding_lines(diagnosis, coloured=coloured)) for diagnosis in report.findings
    ]
    return "\n\n".join([*blocks, _summary(report)]) + "\n"


def finding_lines(finding: Diagnosis, *, coloured: bool) -> Iterator[str]:
    """Yield the lines of a diagnosis: headline, code, the fault, the evidence, the repair."""
    yield from heading(finding, coloured=coloured).splitlines()
    whose = "the cluster" if finding.group is None else printable(str(finding.group))
    for line in sentence(f"  {finding.code}, {whose}").splitlines():
        yield paint(line, Colour.DIM, coloured=coloured)
    yield from _wrapped(finding.what, "  ")
    yield from _evidence(finding.evidence, "    ")
    yield from _wrapped(f"What helps: {finding.repair}", "  ")
    if finding.fix is not None:
        yield from _wrapped(f"--fix offers to {finding.fix.what}.", "  ")
    if finding.consequences:
        yield "  Consequences:"
    for diagnosis in finding.consequences:
        yield from _wrapped(f"{diagnosis.code}: {diagnosis.what}", "    ")
        yield from _evidence(diagnosis.evidence, "      ")
        if diagnosis.fix is not None:
            yield from _wrapped(f"--fix offers to {diagnosis.fix.what}.", "      ")


def heading(finding: Diagnosis, *, coloured: bool) -> str:
    """Return the severity and the headline, with their line end, in the words of the page."""
    severity = paint(finding.severity.name, _COLOURS[finding.severity], coloured=coloured)
    return sentence(f"{severity}  {printable(headline_text(finding))}")


def write_text(write: Write) -> str:
    """Return a description of a write."""
    if write.after is None:
        return f"delete {printable(write.path)}"
    return f"set {printable(write.path)} to {printable(write.after.decode('utf-8', 'replace'))}"


def as_json(report: DoctorReport) -> dict[str, object]:
    """Return the report as a JSON object; see ``docs/doctor.md``."""
    alone = report.snapshot.brokers_alone
    return {
        "zookeeper": report.snapshot.zookeeper_connect,
        "bootstrap_servers": None if alone is None else alone.bootstrap_servers,
        "taken_at": instant(report.snapshot.taken_ms),
        "snapshot_interval_ms": report.apart_ms,
        "unsure": list(report.unsure),
        "groups": len(report.snapshot.groups),
        "sessions_known": report.snapshot.live_sessions is not None,
        "findings": [_finding_json(diagnosis) for diagnosis in report.findings],
    }


def _finding_json(finding: Diagnosis) -> dict[str, object]:
    fix, group = finding.fix, finding.group
    return {
        "code": finding.code.value,
        "severity": finding.severity.name.lower(),
        "group": None if group is None else group.group_id,
        "kind": None if group is None else group.kind.value,
        "what": finding.what,
        "evidence": list(finding.evidence),
        "repair": finding.repair,
        "consequences": [_finding_json(diagnosis) for diagnosis in finding.consequences],
        "fix": None
        if fix is None
        else {
            "what": fix.what,
            "caution": fix.caution,
            "writes": [
                {
                    "path": write.path,
                    "action": "delete" if write.after is None else "set",
                    "data": None if write.after is None else write.after.decode("utf-8", "replace"),
                }
                for write in fix.writes
            ],
        },
    }


def _summary(report: DoctorReport) -> str:
    numbers = [
        counted(number, severity.name.lower())
        for severity in sorted(Severity, reverse=True)
        if (number := sum(diagnosis.severity is severity for diagnosis in report.findings))
    ]
    groups = counted(len(report.snapshot.groups), "group")
    found = ", ".join(numbers) if numbers else "nothing wrong"
    lines = [f"{found}; examined {groups}"]
    if report.apart_ms is not None:
        lines[0] += f", twice, {report.apart_ms / 1000:.0f} s apart"
    lines = sentence(lines[0]).splitlines()
    if report.unsure:
        lines.append("A second snapshot would settle these (leave out --quick):")
        lines += _evidence(report.unsure, "    ")
    return "\n".join(lines)


def _wrapped(text: str, indent: str, mark: str = "") -> list[str]:
    return textwrap.wrap(
        printable(text),
        min(_WIDTH, terminal_width() or _WIDTH),
        initial_indent=indent + mark,
        subsequent_indent=indent + " " * len(mark),
        break_long_words=False,
        break_on_hyphens=False,
    )


def numbered_lines(texts: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a list with numbers."""
    for number, text in enumerate(texts, 1):
        yield from _wrapped(text, "", f"{number}. ")


def _evidence(lines: Sequence[str], indent: str) -> Iterator[str]:
    """Yield evidence, one line each, wrapped on a narrow terminal without cutting names."""
    for line in lines:
        text = f"{indent}- {printable(line)}"
        width = terminal_width()
        is_long = width is not None and len(text) > width
        yield from _wrapped(line, indent, "- ") if is_long else [text]
