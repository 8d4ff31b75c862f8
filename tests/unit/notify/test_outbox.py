"""Which messages a target gets, and when."""

import re
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from tests.support.alerting import SETTLEMENT, WALL_MS, alert
from zkconsumer.notify.alerts import Alert
from zkconsumer.notify.outbox import Outbox, Policy, Status
from zkconsumer.notify.quiet import QuietHours
from zkconsumer.status.doctor.diagnosis import Severity
from zkconsumer.status.model import GroupKey, GroupKind

HOUR_MS = 3_600_000
NIGHT = QuietHours(begin=22 * 60, end=7 * 60, zone=ZoneInfo("UTC"))
EVENING_MS = WALL_MS + 12 * HOUR_MS + 30 * 60_000  # 22:11
MORNING_MS = WALL_MS + 22 * HOUR_MS  # 07:41


def statuses(outbox: Outbox, now_ms: int = 0, wall_ms: int = WALL_MS) -> list[Status]:
    """Deliver what is due now; return the statuses."""
    messages = outbox.due(now_ms, wall_ms)
    outbox.delivered(messages, now_ms)
    return [message.status for message in messages]


def test_nothing_is_sent_in_quiet_hours_and_then_the_present_state() -> None:
    """A trouble that came and went at night is never sent; an end at night is, in the morning."""
    outbox = Outbox(Policy(quiet=(NIGHT,)))
    outbox.update({SETTLEMENT: alert()})
    assert statuses(outbox) == [Status.FIRING]
    outbox.update({None: alert(None)})
    assert statuses(outbox, wall_ms=EVENING_MS) == []
    outbox.update({})
    assert statuses(outbox, wall_ms=EVENING_MS) == []
    assert statuses(outbox, wall_ms=MORNING_MS) == [Status.RESOLVED]
    assert statuses(outbox, wall_ms=MORNING_MS) == []


def test_silenced_groups_and_lower_severities_are_not_sent() -> None:
    """A pattern has to match the whole id; it can't silence the cluster."""
    outbox = Outbox(Policy(silenced=(re.compile("settle.*"),), severity=Severity.ERROR))
    other = GroupKey(GroupKind.ZOOKEEPER, "resettle")
    outbox.update(
        {
            SETTLEMENT: alert(),
            other: alert(other),
            None: alert(None, Severity.WARNING),
        }
    )
    assert [message.alert.subject for message in outbox.due(0, WALL_MS)] == [other]


def test_a_target_that_fails_is_retried_less_and_less_often() -> None:
    """The pause grows up to five minutes; then the present state is sent, once."""
    outbox = Outbox()
    outbox.update({SETTLEMENT: alert()})
    assert [outbox.failed(0) for _ in range(12)] == [
        *(1_000 << shift for shift in range(9)),
        *[300_000] * 3,
    ]
    assert statuses(outbox, 299_999) == []
    assert statuses(outbox, 300_000) == [Status.FIRING]
    assert outbox.failed(300_000) == 1_000


def test_reminders_come_at_their_interval() -> None:
    """Only targets with ``repeat_ms`` get them."""
    outbox, other = Outbox(Policy(repeat_ms=HOUR_MS)), Outbox()
    for box in (outbox, other):
        box.update({SETTLEMENT: alert()})
        assert statuses(box) == [Status.FIRING]
    assert statuses(outbox, HOUR_MS - 1) == []
    assert statuses(outbox, HOUR_MS) == [Status.REMINDER]
    assert statuses(other, 100 * HOUR_MS) == []


def test_the_worst_is_sent_first_and_batches_are_limited() -> None:
    """A broker that dies does not lead to a hundred messages."""
    outbox = Outbox(Policy(batch=3))
    keys = [GroupKey(GroupKind.ZOOKEEPER, f"g{number}") for number in range(5)]
    severities = [Severity.WARNING, Severity.ERROR, Severity.WARNING, Severity.ERROR]
    outbox.update(
        {key: alert(key, severity) for key, severity in zip(keys, severities, strict=False)}
        | {None: alert(None)}
    )
    first = outbox.due(0, WALL_MS)
    assert [message.alert.subject for message in first] == [None, keys[1], keys[3]]
    outbox.delivered(first, 0)
    assert len(statuses(outbox)) == 2


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["fire", "end", "send", "fail"]),
        st.integers(0, 3),
        st.sampled_from(Severity),
    ),
    max_size=40,
)


@given(STEPS)
def test_a_target_knows_the_present_state_in_the_end(
    steps: list[tuple[str, int, Severity]],
) -> None:
    """Whatever failed meanwhile; no alert is resolved for a target that did not get it."""
    outbox = Outbox(Policy(batch=2))
    alerts: dict[GroupKey | None, Alert] = {}
    known, now_ms = set[GroupKey | None](), 0
    for step, number, severity in [*steps, *[("send", 0, Severity.NOTE)] * 5]:
        key = GroupKey(GroupKind.ZOOKEEPER, f"g{number}")
        now_ms += 400_000
        if step == "fire":
            alerts[key] = alert(key, max(severity, Severity.WARNING))
        elif step == "end":
            alerts.pop(key, None)
        elif step == "fail":
            outbox.failed(now_ms)
        outbox.update(dict(alerts))
        if step == "send":
            messages = outbox.due(now_ms + 300_000, WALL_MS)
            for message in messages:
                is_over = message.status is Status.RESOLVED
                assert (message.alert.subject in known) is (message.status is not Status.FIRING)
                (known.discard if is_over else known.add)(message.alert.subject)
            outbox.delivered(messages, now_ms)
    assert known == set(alerts)
    assert outbox.pending(now_ms) == 0
