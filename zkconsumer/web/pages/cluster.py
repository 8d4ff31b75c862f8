"""The overview of the cluster: whether all is well, and if not, where to look first. Pure."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from zkconsumer.status.broker_load import BrokerLoad, broker_loads
from zkconsumer.status.doctor.diagnosis import Code, Diagnosis, Severity
from zkconsumer.status.doctor.examine import each_once
from zkconsumer.status.doctor.headline import headline_text
from zkconsumer.status.model import BrokerStatus, ClusterSnapshot, GroupKey, GroupState
from zkconsumer.web.health import health_of
from zkconsumer.web.pages.formatting import NOT_KNOWN, SEVERITY_TONES, Tone, counted
from zkconsumer.web.pages.group_rows import NEVER, NOW, GroupRow, group_rows
from zkconsumer.web.pages.view import PageRequest, View
from zkconsumer.web.state import ClusterState

_SHOWN: Final = 8
_WELL: Final = "All is well"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHealth:
    """The health of the cluster, in one sentence.

    Attributes:
        sentence: the worst known problem, with group, cause and member.
        tone: the tone of the sentence.
        all: the number of all problems, in words; "" if the sentence names the only one.
        group: the group that the sentence is about, if any.
    """

    sentence: str
    tone: Tone
    all: str = ""
    group: GroupKey | None = None


def cluster_page(state: ClusterState, page_request: PageRequest) -> View:
    """Return the overview page, with all diagnoses if ``findings=all``."""
    snapshot = state.snapshot
    outcome, groups, findings, left_out = outcome_of(state, page_request.now_ms)
    behind = sorted(
        (row for row in groups if _is_behind(row)),
        key=lambda row: (-row.rank, -(row.lag or 0), row.key),
    )
    shown = len(findings) if page_request.query.get("findings") == "all" else _SHOWN
    return View(
        template="cluster.html",
        title=outcome.sentence if state.ready else "Cluster",
        context={
            "ready": state.ready,
            "totals": _totals(snapshot, groups),
            "brokers": _broker_rows(snapshot),
            "findings": findings[:shown],
            "more_findings": max(0, len(findings) - shown),
            "left_out": left_out,
            "behind": behind[:_SHOWN],
            "more_behind": max(0, len(behind) - _SHOWN),
            "verdict": outcome,
            "tone": outcome.tone,
            "rates": state.judgements.rates(None),
            "caught_up": _caught_up(behind),
            "unknown": sum(row.unknown for row in groups),
            "tones": SEVERITY_TONES,
        },
    )


def outcome_of(
    state: ClusterState, now_ms: int
) -> tuple[ClusterHealth, list[GroupRow], list[Diagnosis], int]:
    """Return a cluster's health, its groups, its findings, and the number of unexamined groups."""
    groups = group_rows(state, state.snapshot.groups)
    findings = _findings(state, groups)
    left_out = sum(row.findings is None for row in groups)
    return _outcome(state, now_ms, findings, groups, left_out), groups, findings, left_out


def _caught_up(behind: list[GroupRow]) -> str:
    """Return when the last group that is behind will have caught up; "" for now, or unknown."""
    late = sum(row.caught_up == NEVER for row in behind)
    if late:
        return f"{counted(late, 'group')} {'does' if late == 1 else 'do'} not catch up"
    waiting = [row for row in behind if row.caught_up != NOW]
    if not waiting or any(row.caught_up == NOT_KNOWN for row in waiting):
        return ""
    last = max(waiting, key=lambda row: row.caught_up_ms or 0)
    return f"caught up in {last.caught_up}"


def _is_behind(row: GroupRow) -> bool:
    """Return whether its lag matters; an abandoned group never catches up."""
    return bool(row.lag) and row.state is not GroupState.ABANDONED


def _findings(state: ClusterState, groups: list[GroupRow]) -> list[Diagnosis]:
    """Return the diagnoses above a note, the worst first."""
    found = list(state.judgements.findings(None))
    for row in groups:
        found += row.findings or ()
    # Unreadable parts have a section of their own on the page.
    found = [
        diagnosis
        for diagnosis in each_once(found)
        if diagnosis.severity > Severity.NOTE and diagnosis.code is not Code.NOT_LOOKED_AT
    ]
    lags: dict[GroupKey | None, int] = {row.key: row.lag or 0 for row in groups}
    found.sort(
        key=lambda diagnosis: (
            -diagnosis.severity,
            diagnosis.group is not None,
            -lags.get(diagnosis.group, 0),
            diagnosis.group or (),
        )
    )
    return found


def _outcome(
    state: ClusterState,
    now_ms: int,
    findings: list[Diagnosis],
    groups: list[GroupRow],
    left_out: int,
) -> ClusterHealth:
    """Return the health by the worst known problem; old or unexamined data is not healthy."""
    others = sorted(
        (row for row in groups if row.verdict.is_bad and row.verdict.diagnosis is None),
        key=lambda row: (-row.rank, -(row.lag or 0), row.key),
    )
    is_current = health_of(state, now_ms).is_current
    wrong = [
        (SEVERITY_TONES[finding.severity], headline_text(finding), finding.group)
        for finding in findings
    ]
    wrong += [(row.verdict.tone, row.verdict.sentence, row.key) for row in others]
    if wrong:
        tone, worst, worst_group = min(wrong, key=lambda it: it[0] is not Tone.BAD)
        return ClusterHealth(
            sentence=worst if is_current else f"{worst}, when it was last read",
            all=_numbers(findings, len(others)),
            group=worst_group,
            tone=tone,
        )
    if not is_current:
        return ClusterHealth(sentence="The cluster can't be read now", tone=Tone.BAD)
    if state.snapshot.failures:
        return ClusterHealth(sentence="Not everything can be read", tone=Tone.WARN)
    if left_out:
        return ClusterHealth(sentence="Nothing is wrong in what was examined", tone=Tone.NOTE)
    return ClusterHealth(sentence=_WELL, tone=Tone.OK)


def _numbers(findings: list[Diagnosis], others: int) -> str:
    """Return the number of all problems in words; "" if the sentence names the only one."""
    if len(findings) + others == 1:
        return ""
    errors = sum(diagnosis.severity is Severity.ERROR for diagnosis in findings)
    words = [
        counted(number, noun)
        for number, noun in ((errors, "error"), (len(findings) - errors, "warning"))
        if number
    ]
    if others:
        does_not = "group that does not" if others == 1 else "groups that do not"
        words.append(f"{others} {does_not} keep up")
    return f"In all {' and '.join([', '.join(words[:-1]), words[-1]] if words[1:] else words)}."


def _totals(snapshot: ClusterSnapshot, groups: list[GroupRow]) -> dict[str, object]:
    """Return the cluster in numbers; each ``..._ms`` is the oldest read time of that part."""
    partitions = [partition for topic in snapshot.topics for partition in topic.partitions]
    counts = Counter(row.state for row in groups)
    controllers = (status.broker.id for status in snapshot.brokers if status.is_controller)
    return {
        "brokers": len(snapshot.brokers),
        "topics": len(snapshot.topics),
        "partitions": len(partitions),
        "leaderless": sum(partition.leaderless for partition in partitions),
        "under_replicated": sum(partition.under_replicated for partition in partitions),
        "groups": len(groups),
        "states": [(state, counts[state]) for state in GroupState if counts[state]],
        "lag": sum(row.lag or 0 for row in groups),
        "controller": next(controllers, None),
        "is_controller_known": all(status.is_controller is not None for status in snapshot.brokers),
        "brokers_ms": min((status.seen_ms for status in snapshot.brokers), default=None),
        "topics_ms": min((topic.seen_ms for topic in snapshot.topics), default=None),
        "groups_ms": min((row.seen_ms for row in groups), default=None),
    }


def _broker_rows(snapshot: ClusterSnapshot) -> list[tuple[BrokerStatus, BrokerLoad]]:
    loads = broker_loads(snapshot.topics)
    return [(status, loads.get(status.broker.id, BrokerLoad())) for status in snapshot.brokers]
