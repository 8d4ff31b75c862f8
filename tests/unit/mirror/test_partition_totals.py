"""What a mirror counts by partition, and when the end of a log is reached."""

from tests.support.mirroring import OTHER, SOURCE
from zkconsumer.mirror.ends import READINGS, Ends
from zkconsumer.mirror.landed import runs_of
from zkconsumer.mirror.partition_totals import PartitionAccount, summed


def test_gaps_are_counted_once() -> None:
    """Offsets without a message are counted within a poll and between two polls."""
    account = PartitionAccount()
    assert account.add_read(runs_of([5, 6, 9]), 5) == 0
    assert account.add_read(runs_of([12]), None) == 2
    assert (account.read, account.again, account.gap, account.read_until) == (4, 0, 4, 13)


def test_messages_missing_at_the_start_are_reported() -> None:
    """The source deleted them before the mirror came back."""
    account = PartitionAccount()
    assert account.add_read(runs_of([50, 51]), 20) == 30
    assert account.gap == 30


def test_repeated_messages_are_counted() -> None:
    """Another process had the partition meanwhile, or a commit failed."""
    account = PartitionAccount()
    account.add_read(runs_of([0, 1, 2, 3]), 0)
    assert account.add_read(runs_of([2, 3, 4, 5]), 2) == 0
    assert (account.read, account.again, account.gap, account.read_until) == (8, 2, 0, 6)


def test_positions_never_go_back_and_sums_have_none() -> None:
    """Reading a partition again does not change its position."""
    account = PartitionAccount(acknowledged=5)
    account.reach(7)
    account.reach(3)
    assert account.position == 7
    total = summed([account, PartitionAccount(acknowledged=4, dropped=1)])
    assert (total.acknowledged, total.dropped, total.position) == (9, 1, None)


def test_a_log_that_stays_shorter_ends_there() -> None:
    """It was truncated or created again: its old end is never reached. One reading is no proof."""
    ends = Ends({SOURCE: 10, OTHER: 10}, {})
    for _ in range(READINGS - 1):
        assert not ends.shorten(SOURCE, 4)
        ends.shorten(OTHER, 4)
    assert not ends.shorten(OTHER, 10)
    assert not ends.shorten(OTHER, 4)
    ends.reached(SOURCE, 4)
    assert ends.missing == {SOURCE, OTHER}
    assert ends.shorten(SOURCE, 4)
    ends.reached(SOURCE, 4)
    assert ends.missing == {OTHER}


def test_an_offset_beyond_the_end_counts_when_nothing_changes_for_long() -> None:
    """The count begins again whenever the reader commits another offset, or the log grows."""
    ends = Ends({SOURCE: 10}, {})
    for committed, end in ((15, 10), (14, 10), (15, 10), (15, 11)):
        for _ in range(READINGS - 1):
            ends.reached_by_others(SOURCE, committed, end)
    ends.reached_by_others(SOURCE, 3, 11)
    for _ in range(READINGS - 1):
        ends.reached_by_others(SOURCE, 15, 11)
    assert ends.missing == {SOURCE}
    ends.reached_by_others(SOURCE, 15, 11)
    assert not ends.missing


def test_ends_are_reached_one_by_one() -> None:
    """An empty log is complete; another is when everything before its end is there."""
    ends = Ends({SOURCE: 5, OTHER: 9}, {SOURCE: 0, OTHER: 9})
    assert ends.missing == {SOURCE}
    ends.reached(SOURCE, 4)
    assert ends.missing == {SOURCE}
    ends.reached(SOURCE, 5)
    assert not ends.missing
