"""When automatic commits are due."""

from zkconsumer.membership.zookeeper.core.autocommit import CommitTimer


def test_the_first_commit_is_due_after_one_interval() -> None:
    """It is due neither at once nor any earlier."""
    timer = CommitTimer(enabled=True, interval_ms=100, now_ms=1_000)
    assert timer.due_ms == 1_100
    assert not timer.take(1_099)
    assert timer.take(1_100)


def test_the_rate_is_fixed() -> None:
    """A late commit does not delay the next one."""
    timer = CommitTimer(enabled=True, interval_ms=100, now_ms=1_000)
    assert timer.take(1_130)
    assert timer.due_ms == 1_200


def test_a_due_commit_is_taken_once() -> None:
    """Once taken, no commit is due until the next interval has passed."""
    timer = CommitTimer(enabled=True, interval_ms=100, now_ms=0)
    assert (timer.take(100), timer.take(100)) == (True, False)


def test_missed_commits_are_not_made_up_for() -> None:
    """After a long pause one commit is due, and the next keeps the original rhythm."""
    timer = CommitTimer(enabled=True, interval_ms=100, now_ms=0)
    assert timer.take(1_050)
    assert timer.due_ms == 1_100
    assert not timer.take(1_099)


def test_a_disabled_timer_is_never_due() -> None:
    """With ``auto.commit.enable=false`` no commit is due."""
    timer = CommitTimer(enabled=False, interval_ms=100, now_ms=0)
    assert timer.due_ms is None
    assert not timer.take(10**12)


def test_an_interval_of_0_is_a_millisecond() -> None:
    """An interval of 0 neither divides by zero nor stops the timer."""
    timer = CommitTimer(enabled=True, interval_ms=0, now_ms=0)
    assert timer.take(5)
    assert timer.due_ms == 6
