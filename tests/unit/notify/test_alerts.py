"""Which troubles last long enough for an alert."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.alerting import SETTLEMENT, WALL_MS, seen, trouble
from zkconsumer.notify.alerts import Alerts, Timing
from zkconsumer.notify.outbox import Outbox, Status
from zkconsumer.notify.troubles import GroupObservation
from zkconsumer.status.doctor.diagnosis import Severity

STEP_MS = 5_000
AFTER_MS, RESOLVED_MS = Timing().after_ms, Timing().resolved_after_ms


class Watch:
    """A cluster with one group that is observed every five seconds, and the messages sent."""

    def __init__(self) -> None:
        self.alerts = Alerts()
        self.outbox = Outbox()
        self.now_ms = 1_000
        self.sent: list[Status] = []

    def observe(self, observation: GroupObservation, for_ms: int) -> "Watch":
        """Observe the same for a while."""
        for _ in range(max(1, for_ms // STEP_MS)):
            self.alerts.receive(observation, self.now_ms, WALL_MS + self.now_ms)
            self.outbox.update(self.alerts.current())
            messages = self.outbox.due(self.now_ms, WALL_MS + self.now_ms)
            self.sent += [message.status for message in messages]
            self.outbox.delivered(messages, self.now_ms)
            self.now_ms += STEP_MS
        return self


def test_a_lasting_trouble_sends_one_message_and_its_end_another() -> None:
    """The message is not sent at once, not repeated, and not resolved while it may come back."""
    watch = Watch().observe(seen(trouble()), AFTER_MS)
    assert watch.sent == []
    assert watch.observe(seen(trouble()), 3_600_000).sent == [Status.FIRING]
    assert watch.observe(seen(None), RESOLVED_MS).sent == [Status.FIRING]
    assert watch.observe(seen(None), 2 * STEP_MS).sent == [Status.FIRING, Status.RESOLVED]
    assert watch.observe(seen(None), 3_600_000).sent == [Status.FIRING, Status.RESOLVED]


def test_a_group_that_flaps_ten_times_sends_two_messages() -> None:
    """This is so however long its bad times are, if no good one is long."""
    for bad_ms, good_ms in ((90_000, 60_000), (10_000, 10_000), (240_000, 290_000)):
        watch = Watch()
        for _ in range(10):
            watch.observe(seen(trouble()), bad_ms).observe(seen(None), good_ms)
        watch.observe(seen(None), 2 * RESOLVED_MS)
        assert watch.sent == [Status.FIRING, Status.RESOLVED]


def test_each_flap_lengthens_the_time_until_an_alert_is_resolved() -> None:
    """Ten flaps of a quarter of an hour lead to six messages, not twenty."""
    watch = Watch()
    for _ in range(10):
        watch.observe(seen(trouble()), 120_000).observe(seen(None), 900_000)
    watch.observe(seen(None), 16 * RESOLVED_MS)
    assert watch.sent == 3 * [Status.FIRING, Status.RESOLVED]


def test_short_troubles_far_apart_are_no_alert() -> None:
    """An occasional rebalance alerts nobody."""
    watch = Watch()
    for _ in range(50):
        watch.observe(seen(trouble()), AFTER_MS // 2).observe(seen(None), 2 * RESOLVED_MS)
    assert watch.sent == []


def test_a_warning_that_becomes_an_error_is_sent_again_and_never_downgraded() -> None:
    """The severity of an alert only rises."""
    watch = Watch().observe(seen(trouble(Severity.WARNING)), 2 * AFTER_MS)
    watch.observe(seen(trouble(Severity.ERROR)), 2 * AFTER_MS)
    watch.observe(seen(trouble(Severity.WARNING)), 2 * AFTER_MS)
    assert watch.sent == [Status.FIRING, Status.WORSE]
    assert watch.alerts.current()[SETTLEMENT].severity is Severity.ERROR


def test_an_unreadable_cluster_resolves_nothing() -> None:
    """Nothing is resolved while the cluster, or the source of the trouble, can't be read."""
    watch = Watch().observe(seen(trouble()), 2 * AFTER_MS)
    watch.observe(GroupObservation(conditions=(), present=None), 3_600_000)
    watch.observe(seen(None, SETTLEMENT, "log ends of broker 2"), 3_600_000)
    assert watch.sent == [Status.FIRING]
    assert watch.observe(seen(None), 2 * RESOLVED_MS).sent == [Status.FIRING, Status.RESOLVED]


def test_a_source_that_was_never_read_does_not_keep_an_alert() -> None:
    """The trouble was seen without that source, and so is its end."""
    watch = Watch().observe(seen(trouble(), SETTLEMENT, "sessions"), 2 * AFTER_MS)
    watch.observe(seen(None, SETTLEMENT, "sessions"), 2 * RESOLVED_MS)
    assert watch.sent == [Status.FIRING, Status.RESOLVED]


def test_a_deleted_group_has_no_trouble() -> None:
    """This is so as long as the groups are read."""
    watch = Watch().observe(seen(trouble()), 2 * AFTER_MS)
    watch.observe(seen(None, gone=True), 2 * RESOLVED_MS)
    assert watch.sent == [Status.FIRING, Status.RESOLVED]


def test_a_machine_that_slept_counts_a_minute() -> None:
    """One observation before and one after the sleep are no hour of trouble."""
    alerts = Alerts(Timing(after_ms=600_000))
    for now_ms in (0, 36_000_000):
        alerts.receive(seen(trouble()), now_ms, WALL_MS)
    assert not alerts.current()


OBSERVATIONS = st.sampled_from(["bad", "warning", "well", "unread", "blind", "gone"])
OBSERVED = {
    "bad": seen(trouble()),
    "warning": seen(trouble(Severity.WARNING)),
    "well": seen(None),
    "unread": GroupObservation(conditions=(), present=None),
    "blind": seen(None, SETTLEMENT, "log ends of broker 2"),
    "gone": seen(None, gone=True),
}


@given(st.lists(st.tuples(OBSERVATIONS, st.integers(1, 40)), max_size=12))
def test_messages_alternate_and_take_their_time(spells: list[tuple[str, int]]) -> None:
    """No alert is resolved that did not fire, and between two there is a whole good time."""
    watch = Watch()
    for observation, count in spells:
        watch.observe(OBSERVED[observation], count * STEP_MS)
    statuses = [status for status in watch.sent if status is not Status.WORSE]
    assert statuses[::2] == [Status.FIRING] * len(statuses[::2])
    assert statuses[1::2] == [Status.RESOLVED] * len(statuses[1::2])
    bad_ms = STEP_MS * sum(
        count for observation, count in spells if observation in {"bad", "warning"}
    )
    well_ms = STEP_MS * sum(
        count for observation, count in spells if observation in {"well", "gone", "blind"}
    )
    assert statuses.count(Status.FIRING) <= bad_ms // AFTER_MS
    assert statuses.count(Status.RESOLVED) <= well_ms // RESOLVED_MS


@given(st.lists(st.tuples(OBSERVATIONS, st.integers(1, 40)), max_size=12), st.booleans())
def test_the_last_state_is_known_in_the_end(spells: list[tuple[str, int]], ends_bad: bool) -> None:
    """This holds whatever happened before."""
    watch = Watch()
    for observation, count in spells:
        watch.observe(OBSERVED[observation], count * STEP_MS)
    watch.observe(OBSERVED["bad" if ends_bad else "well"], 17 * RESOLVED_MS)
    assert bool(watch.alerts.current()) is ends_bad
    assert watch.outbox.pending(watch.now_ms) == 0
