"""Which troubles last."""

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
    """A cluster with one group that is looked at every five seconds, and who is told."""

    def __init__(self) -> None:
        self.alerts = Alerts()
        self.outbox = Outbox()
        self.now_ms = 1_000
        self.told: list[Status] = []

    def sees(self, observation: GroupObservation, for_ms: int) -> "Watch":
        """See the same for a while."""
        for _ in range(max(1, for_ms // STEP_MS)):
            self.alerts.receive(observation, self.now_ms, WALL_MS + self.now_ms)
            self.outbox.update(self.alerts.current())
            messages = self.outbox.due(self.now_ms, WALL_MS + self.now_ms)
            self.told += [message.status for message in messages]
            self.outbox.delivered(messages, self.now_ms)
            self.now_ms += STEP_MS
        return self


def test_what_lasts_is_told_once_and_so_is_its_end() -> None:
    """Not at once, not each time, and not while it may come back."""
    watch = Watch().sees(seen(trouble()), AFTER_MS)
    assert watch.told == []
    assert watch.sees(seen(trouble()), 3_600_000).told == [Status.FIRING]
    assert watch.sees(seen(None), RESOLVED_MS).told == [Status.FIRING]
    assert watch.sees(seen(None), 2 * STEP_MS).told == [Status.FIRING, Status.RESOLVED]
    assert watch.sees(seen(None), 3_600_000).told == [Status.FIRING, Status.RESOLVED]


def test_a_group_that_flaps_ten_times_sends_two_messages() -> None:
    """However long its bad spells are, if no good one is long."""
    for bad_ms, good_ms in ((90_000, 60_000), (10_000, 10_000), (240_000, 290_000)):
        watch = Watch()
        for _ in range(10):
            watch.sees(seen(trouble()), bad_ms).sees(seen(None), good_ms)
        watch.sees(seen(None), 2 * RESOLVED_MS)
        assert watch.told == [Status.FIRING, Status.RESOLVED]


def test_longer_good_spells_are_waited_for_longer_each_time() -> None:
    """Ten flaps of a quarter of an hour are six messages, not twenty."""
    watch = Watch()
    for _ in range(10):
        watch.sees(seen(trouble()), 120_000).sees(seen(None), 900_000)
    watch.sees(seen(None), 16 * RESOLVED_MS)
    assert watch.told == 3 * [Status.FIRING, Status.RESOLVED]


def test_short_troubles_far_apart_are_none() -> None:
    """What a rebalance does now and then wakes nobody."""
    watch = Watch()
    for _ in range(50):
        watch.sees(seen(trouble()), AFTER_MS // 2).sees(seen(None), 2 * RESOLVED_MS)
    assert watch.told == []


def test_a_warning_that_becomes_an_error_is_told_again_and_not_back() -> None:
    """The severity of an alert only rises."""
    watch = Watch().sees(seen(trouble(Severity.WARNING)), 2 * AFTER_MS)
    watch.sees(seen(trouble(Severity.ERROR)), 2 * AFTER_MS)
    watch.sees(seen(trouble(Severity.WARNING)), 2 * AFTER_MS)
    assert watch.told == [Status.FIRING, Status.WORSE]
    assert watch.alerts.current()[SETTLEMENT].severity is Severity.ERROR


def test_what_cant_be_read_is_not_well() -> None:
    """Nothing ends while the cluster, or what told of the trouble, is not read."""
    watch = Watch().sees(seen(trouble()), 2 * AFTER_MS)
    watch.sees(GroupObservation(conditions=(), present=None), 3_600_000)
    watch.sees(seen(None, SETTLEMENT, "log ends of broker 2"), 3_600_000)
    assert watch.told == [Status.FIRING]
    assert watch.sees(seen(None), 2 * RESOLVED_MS).told == [Status.FIRING, Status.RESOLVED]


def test_what_was_not_read_all_along_keeps_no_alert() -> None:
    """The trouble was seen without it, and so is its end."""
    watch = Watch().sees(seen(trouble(), SETTLEMENT, "sessions"), 2 * AFTER_MS)
    watch.sees(seen(None, SETTLEMENT, "sessions"), 2 * RESOLVED_MS)
    assert watch.told == [Status.FIRING, Status.RESOLVED]


def test_a_group_that_is_gone_is_in_no_trouble() -> None:
    """As long as groups are read."""
    watch = Watch().sees(seen(trouble()), 2 * AFTER_MS)
    watch.sees(seen(None, gone=True), 2 * RESOLVED_MS)
    assert watch.told == [Status.FIRING, Status.RESOLVED]


def test_a_machine_that_slept_counts_a_minute() -> None:
    """One look before and one after it are no hour of trouble."""
    alerts = Alerts(Timing(after_ms=600_000))
    for now_ms in (0, 36_000_000):
        alerts.receive(seen(trouble()), now_ms, WALL_MS)
    assert not alerts.current()


SIGHTS = st.sampled_from(["bad", "warning", "well", "unread", "blind", "gone"])
OBSERVED = {
    "bad": seen(trouble()),
    "warning": seen(trouble(Severity.WARNING)),
    "well": seen(None),
    "unread": GroupObservation(conditions=(), present=None),
    "blind": seen(None, SETTLEMENT, "log ends of broker 2"),
    "gone": seen(None, gone=True),
}


@given(st.lists(st.tuples(SIGHTS, st.integers(1, 40)), max_size=12))
def test_messages_alternate_and_need_their_time(spells: list[tuple[str, int]]) -> None:
    """No end without a beginning, and between two beginnings lies a whole good spell."""
    watch = Watch()
    for sight, looks in spells:
        watch.sees(OBSERVED[sight], looks * STEP_MS)
    turns = [status for status in watch.told if status is not Status.WORSE]
    assert turns[::2] == [Status.FIRING] * len(turns[::2])
    assert turns[1::2] == [Status.RESOLVED] * len(turns[1::2])
    bad_ms = STEP_MS * sum(looks for sight, looks in spells if sight in {"bad", "warning"})
    well_ms = STEP_MS * sum(looks for sight, looks in spells if sight in {"well", "gone", "blind"})
    assert turns.count(Status.FIRING) <= bad_ms // AFTER_MS
    assert turns.count(Status.RESOLVED) <= well_ms // RESOLVED_MS


@given(st.lists(st.tuples(SIGHTS, st.integers(1, 40)), max_size=12), st.booleans())
def test_what_lasts_is_known_in_the_end(spells: list[tuple[str, int]], ends_bad: bool) -> None:
    """Whatever was before."""
    watch = Watch()
    for sight, looks in spells:
        watch.sees(OBSERVED[sight], looks * STEP_MS)
    watch.sees(OBSERVED["bad" if ends_bad else "well"], 17 * RESOLVED_MS)
    assert bool(watch.alerts.current()) is ends_bad
    assert watch.outbox.pending(watch.now_ms) == 0
