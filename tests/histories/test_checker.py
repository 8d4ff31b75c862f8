"""Each anomaly by example: a small sound history, and a change to it that breaks a promise."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.histories.checker import check_operations
from tests.histories.rules import PROMISES, CheckResult

A, B, C = "g_a", "g_b", "g_c"  # C promises little: it commits a message before it delivers it
Operation = dict[str, Any]
Change = Callable[["Story"], None]


class Story:
    """Records a history; times are in seconds, and there is a single partition."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self._last: dict[str, int] = {}
        for name in (A, B):
            promises = sorted(PROMISES)
            self.notify(0, name, "info", "member", member=name, promises=promises, late_ms=4_000)
        self.notify(0, C, "info", "member", member=C, promises=["starts"], load_slack_ms=500)
        self.commit(0, None, 0)

    def notify(self, second: float, process: str, kind: str, f: str, /, **fields: object) -> None:
        """Add an operation."""
        operation = {"process": process, "type": kind, "f": f, "time": int(second * 1000), **fields}
        self.operations.append(operation)

    def write(self, count: int, outcome: str = "ok") -> None:
        """Send the values v0, v1 ..., which get the offsets 0, 1 ..."""
        values = [f"v{offset}" for offset in range(count)]
        self.notify(0, "writer", "invoke", "send", topic="t", partition=0, values=values)
        self.notify(0, "writer", outcome, "send", **({"offset": 0} if outcome == "ok" else {}))

    def claim(self, second: float, member: str) -> None:
        """Let a member create the owner node."""
        self.notify(second, "zk", "info", "claim", topic="t", partition=0, member=member)

    def release(self, second: float, how: str = "released") -> None:
        """Delete the owner node."""
        self.notify(second, "zk", "info", "release", topic="t", partition=0, how=how)

    def commit(self, second: float, member: str | None, offset: int) -> None:
        """Let a member (None: another client) commit an offset."""
        self.notify(second, "zk", "ok", "commit", member=member, offsets=[["t", 0, offset]])

    def give(self, second: float, member: str, *offsets: int, reader: str = "0") -> None:
        """Let the member's reader poll, and get these offsets a tenth of a second later."""
        process = f"{member}/{reader}"
        self.notify(second, process, "invoke", "poll")
        messages = [["t", 0, offset, f"v{offset}"] for offset in offsets]
        self.notify(second + 0.1, process, "ok", "poll", member=member, messages=messages)

    def request(self, second: float, member: str) -> None:
        """Let a member's reader poll without a result."""
        self.notify(second, f"{member}/0", "invoke", "poll")

    def print(self, second: float, member: str, *offsets: int) -> None:
        """Let a member deliver that records neither offsets nor when it polls."""
        messages = [[None, None, None, f"v{offset}"] for offset in offsets]
        since = int(second * 1000)
        ok = {"member": member, "since": since, "messages": messages}
        self.notify(second + 0.1, member, "ok", "poll", **ok)

    def fault(self, second: float, kind: str, member: str | None, until: float = 0) -> None:
        """Inject a fault into a member."""
        until_ms = int(max(second, until) * 1000)
        self.notify(second, "nemesis", "info", "fault", kind=kind, member=member, until=until_ms)

    def end(self, count: int) -> None:
        """Record the log, and that the members ran until it was delivered and committed."""
        messages = [[offset, f"v{offset}"] for offset in range(count)]
        place = {"topic": "t", "partition": 0, "start": 0, "end": count}
        self.notify(90, "judge", "ok", "log", **place, messages=messages)
        self.notify(90, "judge", "info", "end", drained=True, committed=True)


def sound(*, first: Change | None = None, second: Change | None = None) -> Story:
    """A reads 0 to 2 and hands over; B reads 3 to 5, is killed with 5 uncommitted; C ends.

    Args:
        first: what A does instead.
        second: what B does instead.
    """
    story = Story()
    story.write(6)
    (first or life_of_a)(story)
    (second or life_of_b)(story)
    story.claim(16, C)
    story.print(17, C, 5)
    story.commit(20, C, 6)
    story.release(21)
    story.end(6)
    return story


def life_of_a(story: Story) -> None:
    """Let A read and commit 0 to 2, and release the partition."""
    story.claim(1, A)
    for offset in (0, 1, 2):
        story.give(2 + offset, A, offset)
    story.request(5, A)
    story.commit(5.5, A, 3)
    story.release(6)


def life_of_b(story: Story) -> None:
    """Let B read 3 to 5, commit 5, and be killed with offset 5 uncommitted."""
    story.claim(7, B)
    for offset in (3, 4, 5):
        story.give(5 + offset, B, offset)
    story.commit(11, B, 5)
    story.fault(12, "kill", B)
    story.release(15, "session")


def result_of(story: Story) -> CheckResult:
    """Check a story."""
    return check_operations(copy.deepcopy(story.operations))


def test_a_sound_history_passes_and_each_redelivery_has_its_cause() -> None:
    """Only the message that the killed member had not committed is redelivered."""
    outcome = result_of(sound())
    assert outcome.good, outcome.complaints()
    assert outcome.repeats == {"a kill of a fenced one": 1}
    assert outcome.counts["lost"] == 0
    assert outcome.counts["acknowledged"] == 6
    assert outcome.counts["claims"] == 3
    assert outcome.counts["claims given up in order"] == 2


def before_b(change: Change) -> Change:
    """Let B do this before it reads as in ``life_of_b``."""

    def lives(story: Story) -> None:
        story.claim(7, B)
        change(story)
        for offset in (3, 4, 5):
            story.give(8 + offset / 10, B, offset, reader="1")
        story.commit(11, B, 5)
        story.fault(12, "kill", B)
        story.release(15, "session")

    return lives


def a_with_commits(*commits: tuple[float, int]) -> Change:
    """Let A read as in ``life_of_a``, with these commits (second, offset)."""

    def lives(story: Story) -> None:
        story.claim(1, A)
        for offset in (0, 1, 2):
            story.give(2 + offset, A, offset)
        story.request(5, A)
        for when, offset in commits:
            story.commit(when, A, offset)
        story.release(6)

    return lives


BROKEN: dict[str, tuple[Story, str]] = {
    "read below the commit": (
        sound(second=before_b(lambda story: story.give(7.5, B, 2, 3))),
        "committed redelivery: 1 (t-0 2 by g_b (g_b/0) at 7600, where 3 was committed",
    ),
    "begun above the commit": (
        sound(second=before_b(lambda story: story.give(7.5, B, 4))),
        "poll skip: 1 (t-0 4 by g_b (g_b/0) at 7600, where 3 was committed",
    ),
    "back within a claim": (
        sound(second=before_b(lambda story: story.give(7.5, B, 3))),
        "nonmonotonic poll: 1 (t-0 3 after 3 by g_b (g_b/1)",
    ),
    "no claim": (
        sound(second=before_b(lambda story: story.give(7.5, A, 3, reader="1"))),
        "poll after release: 1 (t-0 3 by g_a",
    ),
    "released uncommitted": (
        sound(first=a_with_commits((5.5, 1))),
        "unfinished hand-over: 1 (t-0 by g_a: 2 in hand, 1 committed)",
    ),
    "committed early": (
        sound(first=a_with_commits((3.5, 3))),
        "premature commit: 1 (t-0 2 by the commit of 3 by g_a at 3500)",
    ),
    "committed in hand": (
        sound(first=a_with_commits((4.5, 3))),
        "commit in hand: 1 (t-0 2 by the commit of 3 by g_a at 4500)",
    ),
    "moved back": (
        sound(first=a_with_commits((5.2, 3), (5.3, 2), (5.4, 3))),
        "commit moved back: 1 (t-0 from 3 to 2 by g_a)",
    ),
    "never written": (
        sound(second=before_b(lambda story: story.give(7.5, B, 3, 9))),
        "unwritten read: 1 (v9 at t-0 9 by g_b)",
    ),
}


@pytest.mark.parametrize("fault", list(BROKEN))
def test_a_violation_is_reported_with_its_place(fault: str) -> None:
    """Each violation is reported under its anomaly's name, with member, place and time."""
    story, complaint = BROKEN[fault]
    complaints = result_of(story).complaints()
    assert any(complaint_text.startswith(complaint) for complaint_text in complaints), complaints


def test_a_hand_over_during_an_outage_of_the_registry_may_be_uncommitted() -> None:
    """An uncommitted release during an outage of the registry is counted, but no anomaly."""
    story = sound(first=a_with_commits((5.5, 1)))
    story.fault(4.5, "registry away", None, until=5.6)
    outcome = result_of(story)
    assert "unfinished hand-over" not in outcome.anomalies
    assert outcome.effects["a hand-over without a commit: the registry was away"] == 1


def test_a_commit_that_an_unfenced_member_overwrites_is_not_blamed_on_its_owner() -> None:
    """A fenced member that had committed everything is not blamed for an unfenced overwrite."""

    def lives(story: Story) -> None:
        life_of_a(story)
        released = story.operations.pop()
        story.commit(5.6, C, 1)
        story.operations.append(released)
        story.claim(7, B)
        for offset in range(1, 6):
            story.give(7 + offset / 2, B, offset)
        story.commit(11, B, 5)
        story.fault(12, "kill", B)
        story.release(15, "session")

    outcome = result_of(sound(first=lives, second=lambda _: None))
    assert outcome.good, outcome.complaints()
    assert outcome.effects["an offset that one without a fence moved back"] == 1


def commit_before_delivery(story: Story, *, killed: bool) -> None:
    """Let C commit a message before it delivers it, and be killed or not; A reads the rest."""
    story.write(6)
    story.claim(1, C)
    story.print(2, C, 0, 1)
    story.commit(5, C, 3)
    if killed:
        story.fault(6, "kill", C)
    story.release(9, "session")
    story.claim(10, A)
    for offset in (3, 4, 5):
        story.give(8 + offset, A, offset)
    story.request(14, A)
    story.commit(15, A, 6)
    story.release(16)
    story.end(6)


@pytest.mark.parametrize("killed", [True, False])
def test_a_member_that_commits_first_may_lose_one_message_when_it_is_killed(killed: bool) -> None:
    """One message is excused if the member was killed, and none if it was not."""
    story = Story()
    commit_before_delivery(story, killed=killed)
    outcome = result_of(story)
    assert outcome.good == killed, outcome.complaints()
    assert outcome.counts["lost in the hand of a killed one that commits before"] == killed


def test_a_write_of_unknown_outcome_that_is_in_the_log_must_be_delivered() -> None:
    """A write without a response counts as written if the log has it."""
    story = Story()
    story.write(3, "info")
    story.claim(1, A)
    story.give(2, A, 1)
    story.end(3)
    complaints = result_of(story).complaints()
    assert "lost write: 1 (v0 at t-0 0)" in complaints
    assert "unseen: 1 (v2 at t-0 2)" in complaints


def test_without_a_log_only_skipped_messages_are_lost() -> None:
    """Without the log, messages after the last read one are pending, not lost."""
    story = Story()
    story.write(4)
    story.claim(1, A)
    story.give(2, A, 0)
    story.give(3, A, 2)
    outcome = result_of(story)
    assert list(outcome.anomalies) == ["lost write", "poll skip"]
    assert outcome.counts["not delivered yet"] == 1


def test_a_partition_with_an_unrecorded_member_is_not_checked_for_losses() -> None:
    """The unrecorded member may have read anything; such partitions are counted."""
    story = Story()
    story.write(4)
    story.claim(1, "a stranger")
    story.commit(2, "a stranger", 3)
    story.release(3)
    story.claim(4, A)
    story.give(5, A, 3)
    outcome = result_of(story)
    assert outcome.good, outcome.complaints()
    assert outcome.counts["partitions that were not judged: others read them"] == 1


def test_offsets_that_an_operator_moves_are_no_loss() -> None:
    """Offsets that a tool skips are neither lost writes nor a skip of the next owner."""
    story = Story()
    story.write(6)
    story.commit(1, None, 4)
    story.claim(2, A)
    story.give(3, A, 4, 5)
    assert result_of(story).good, result_of(story).complaints()


def test_a_reported_change_of_assignment_may_move_the_position() -> None:
    """Without a registry, a listener's calls are all that is known of assignments."""
    story = Story()
    story.operations.clear()
    story.notify(0, A, "info", "member", member=A, promises=["order"], start="earliest")
    story.write(4)
    story.give(1, A, 0, 1)
    partitions = [["t", 0]]
    story.notify(2, f"{A}/0", "info", "revoked", member=A, partitions=partitions)
    story.notify(2, f"{A}/0", "info", "assigned", member=A, partitions=partitions)
    story.give(3, A, 1, 2)
    again = copy.deepcopy(story)
    assert result_of(story).good
    again.give(4, A, 2, 3)
    assert result_of(again).complaints() == [
        "nonmonotonic poll: 1 (t-0 2 after 2 by g_a (g_a/0) at 4100)"
    ]


def test_a_member_thawed_long_after_its_session_may_deliver_one_more_message() -> None:
    """Time while frozen does not count; deliveries long after the thaw are late."""
    story = Story()
    story.write(4)
    story.claim(1, A)
    story.give(2, A, 0)
    story.fault(3, "freeze", A, until=20)
    story.release(8, "session")
    story.give(19.9, A, 1)
    assert result_of(story).good, result_of(story).complaints()
    story.give(26, A, 2)
    assert list(result_of(story).anomalies) == ["late poll"]


def test_a_partition_that_comes_back_goes_on_after_what_its_member_processed() -> None:
    """A member that claims again may go on after records it processed, committed or not."""
    story = Story()
    story.write(6)
    story.claim(1, A)
    for offset in (0, 1, 2):
        story.give(2 + offset, A, offset)
    story.release(6, "session")
    pending = copy.deepcopy(story)
    story.give(7, A, 3)
    story.claim(8, A)
    story.give(9, A, 4)
    assert result_of(story).good, result_of(story).complaints()
    pending.claim(8, A)
    pending.give(9, A, 3, reader="1")
    assert result_of(pending).complaints() == [
        "poll skip: 1 (t-0 3 by g_a (g_a/1) at 9100, where 0 was committed at its claim)"
    ]


@pytest.mark.parametrize("start", [0, 3])
def test_if_the_committed_offset_is_out_of_range_any_start_is_legal(start: int) -> None:
    """If the committed offset is out of range, the reset policy may start at either end."""
    story = Story()
    story.write(4)
    story.commit(1, None, 1_000)
    story.claim(2, A)
    story.give(3, A, start)
    assert result_of(story).good, result_of(story).complaints()
