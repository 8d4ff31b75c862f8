"""What a mirror counts."""

from tests.support.mirroring import OTHER, SOURCE
from zkconsumer.mirror.ends import LOOKS, Ends
from zkconsumer.mirror.landed import runs_of
from zkconsumer.mirror.partition_totals import PartitionAccount, summed


def test_reading_on_counts_gaps_and_nothing_twice() -> None:
    """Offsets without a message, inside of a poll and between two."""
    account = PartitionAccount()
    assert account.add_read(runs_of([5, 6, 9]), 5) == 0
    assert account.add_read(runs_of([12]), None) == 2
    assert (account.read, account.again, account.gap, account.read_until) == (4, 0, 4, 13)


def test_messages_that_are_gone_at_the_start_are_told() -> None:
    """The source's retention was faster than the mirror that comes back."""
    account = PartitionAccount()
    assert account.add_read(runs_of([50, 51]), 20) == 30
    assert account.gap == 30


def test_what_comes_again_is_counted() -> None:
    """Others had the partition meanwhile, or a commit failed."""
    account = PartitionAccount()
    account.add_read(runs_of([0, 1, 2, 3]), 0)
    assert account.add_read(runs_of([2, 3, 4, 5]), 2) == 0
    assert (account.read, account.again, account.gap, account.read_until) == (8, 2, 0, 6)


def test_positions_never_go_back_and_sums_have_none() -> None:
    """A partition that is read again stays where it was."""
    account = PartitionAccount(acknowledged=5)
    account.reach(7)
    account.reach(3)
    assert account.position == 7
    total = summed([account, PartitionAccount(acknowledged=4, dropped=1)])
    assert (total.acknowledged, total.dropped, total.position) == (9, 1, None)


def test_a_log_that_stays_shorter_ends_there() -> None:
    """Cut by its brokers, or made anew: nobody reaches the old end. One look is none."""
    ends = Ends({SOURCE: 10, OTHER: 10}, {})
    for _ in range(LOOKS - 1):
        assert not ends.shorten(SOURCE, 4)
        ends.shorten(OTHER, 4)
    assert not ends.shorten(OTHER, 10)
    assert not ends.shorten(OTHER, 4)
    ends.reached(SOURCE, 4)
    assert ends.missing == {SOURCE, OTHER}
    assert ends.shorten(SOURCE, 4)
    ends.reached(SOURCE, 4)
    assert ends.missing == {OTHER}


def test_an_offset_behind_the_end_counts_when_nothing_happens_for_long() -> None:
    """Its reader goes back at first: what it commits then, or what is written, begins the count."""
    ends = Ends({SOURCE: 10}, {})
    for committed, end in ((15, 10), (14, 10), (15, 10), (15, 11)):
        for _ in range(LOOKS - 1):
            ends.reached_by_others(SOURCE, committed, end)
    ends.reached_by_others(SOURCE, 3, 11)
    for _ in range(LOOKS - 1):
        ends.reached_by_others(SOURCE, 15, 11)
    assert ends.missing == {SOURCE}
    ends.reached_by_others(SOURCE, 15, 11)
    assert not ends.missing


def test_ends_are_reached_one_by_one() -> None:
    """What is empty needs nothing; an end counts when everything in front of it is there."""
    ends = Ends({SOURCE: 5, OTHER: 9}, {SOURCE: 0, OTHER: 9})
    assert ends.missing == {SOURCE}
    ends.reached(SOURCE, 4)
    assert ends.missing == {SOURCE}
    ends.reached(SOURCE, 5)
    assert not ends.missing
