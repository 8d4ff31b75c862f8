"""Troubles of groups, and notifications about them, for tests of notifications."""

from zkconsumer.notify.alerts import Alert
from zkconsumer.notify.outbox import Notification, Status
from zkconsumer.notify.troubles import Condition, GroupObservation, GroupTrouble, Subject
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.model import GroupKey, GroupKind

SETTLEMENT = GroupKey(GroupKind.ZOOKEEPER, "settlement")
COMMAND = "zkconsumer doctor --fix --group settlement --zookeeper zk1:2181/kafka"
WALL_MS = 1_795_167_660_000  # 2026-11-20 09:41 UTC


def trouble(severity: Severity = Severity.ERROR, what: str = "It is stuck.") -> GroupTrouble:
    """Return a trouble of the group "settlement"."""
    return GroupTrouble(
        severity=severity,
        code="member-stale",
        headline="settlement is stuck: settlement_host7 is registered but gone",
        what=what,
        evidence=("settlement_host7 is registered but gone",),
        repair="Delete it.",
        command=COMMAND,
        lag=42,
    )


def seen(
    reported: GroupTrouble | None, subject: Subject = SETTLEMENT, *blind: str, gone: bool = False
) -> GroupObservation:
    """Return an observation of one subject: its trouble if any, and what could not be read."""
    conditions = (
        () if gone else (Condition(subject=subject, trouble=reported, blind=frozenset(blind)),)
    )
    present = frozenset[Subject]() if gone else frozenset([subject])
    return GroupObservation(conditions=conditions, present=present, blind=frozenset(blind))


def alert(
    subject: Subject = SETTLEMENT, severity: Severity = Severity.ERROR, what: str = "It is stuck."
) -> Alert:
    """Return an alert that began five minutes ago."""
    return Alert(
        subject=subject,
        severity=severity,
        trouble=trouble(severity, what),
        began_ms=WALL_MS - 300_000,
    )


def message(status: Status = Status.FIRING, about: Alert | None = None) -> Notification:
    """Return a notification about an alert."""
    return Notification(status=status, alert=about or alert(), at_ms=WALL_MS)
