"""The judge finds what is wrong: sound evidence passes, and each planted fault is told."""

from dataclasses import replace

import pytest

from tests.chaos.cast import Given, LeftBehind
from tests.chaos.evidence import ZOOKEEPER_AWAY, Evidence, Interval
from tests.chaos.group_history import group_history
from tests.chaos.verdict import judge
from tests.chaos.zk_history import Write
from zkconsumer.model import TopicPartition

TP = TopicPartition("t", 0)
BASE = "/consumers/g"
A, B, C = "g_a", "g_b", "g_c"  # C is the original
SESSIONS = {A: 1, B: 2, C: 3}


class Zk:
    """Writes down what members did in ZooKeeper, one transaction a second."""

    def __init__(self) -> None:
        self.writes: list[Write] = []
        for member, session in SESSIONS.items():
            self._write(0, session, f"ids/{member}", b"{}", ephemeral=True)
        self.commit(0, A, 0)

    def claim(self, second: int, member: str) -> None:
        """The member makes the owner node."""
        data = f"{member}-0".encode()
        self._write(second, SESSIONS[member], "owners/t/0", data, ephemeral=True)

    def release(self, second: int, member: str, *, session_ended: bool = False) -> None:
        """The owner node goes."""
        self._write(second, SESSIONS[member], "owners/t/0", None, session_ended=session_ended)

    def commit(self, second: int, member: str, offset: int) -> None:
        """The member writes an offset."""
        self._write(second, SESSIONS[member], "offsets/t/0", str(offset).encode())

    def _write(
        self,
        second: int,
        session: int,
        path: str,
        data: bytes | None,
        *,
        ephemeral: bool = False,
        session_ended: bool = False,
    ) -> None:
        self.writes.append(
            Write(
                zxid=len(self.writes),
                time_ms=second * 1000,
                session=session,
                path=f"{BASE}/{path}",
                data=data,
                ephemeral=ephemeral,
                by_session_end=session_ended,
            )
        )


def given(member: str, offset: int, second: float) -> Given:
    """A delivery in the tenth of a second after this one."""
    where = None if member == C else (TP, offset)
    start_ms = int(second * 1000)
    return Given(f"v{offset}", member, start_ms, start_ms + 100, where)


def sound() -> Evidence:
    """A reads 0 to 2, hands over in order; B reads 3 to 5, is killed with 5 uncommitted; C ends."""
    zk = Zk()
    zk.claim(1, A)
    zk.commit(5, A, 3)
    zk.release(6, A)
    zk.claim(7, B)
    zk.commit(11, B, 5)
    zk.release(15, B, session_ended=True)
    zk.claim(16, C)
    zk.commit(20, C, 6)
    zk.release(21, C)
    where = {f"v{offset}": (TP, offset) for offset in range(6)}
    deliveries = [given(A, offset, 2 + offset) for offset in range(3)]
    deliveries += [given(B, offset, 5 + offset) for offset in (3, 4, 5)]
    deliveries += [given(C, 5, 17)]
    return Evidence(
        acknowledged=where,
        log=where,
        ends={TP: 6},
        given=deliveries,
        history=group_history(zk.writes, BASE),
        originals=frozenset({C}),
        intervals=[Interval("kill", B, 12_000, 12_100)],
        committed={TP: 6},
        left_behind={A: LeftBehind((), (), ())},
    )


def test_sound_evidence_passes_and_every_repeat_has_its_cause() -> None:
    """What the killed one had not committed came again, and that is all that did."""
    verdict = judge(sound())
    assert verdict.good, verdict.wrong
    assert verdict.repeats == {"kill of ours": 1}
    assert verdict.counts["lost"] == 0
    assert verdict.counts["claims"] == 3
    assert verdict.counts["claims released in order"] == 2


def with_writes(change: str) -> Evidence:
    """The sound evidence, but for one thing that happened otherwise in ZooKeeper."""
    zk = Zk()
    zk.claim(1, A)
    zk.commit(5, A, {"no commit": 1, "early commit": 5}.get(change, 3))
    if change == "moved back":
        zk.commit(5, A, 2)
        zk.commit(5, A, 3)
    zk.release(6, A)
    zk.claim(7, B)
    zk.commit(11, B, 6 if change == "all committed" else 5)
    zk.release(15, B, session_ended=True)
    zk.claim(16, C)
    zk.commit(20, C, 6)
    zk.release(21, C)
    return replace(sound(), history=group_history(zk.writes, BASE))


PLANTED = {
    "lost": (
        replace(sound(), given=[one for one in sound().given if one.value != "v2"]),
        "lost: 1 (v2 at",
    ),
    "not in the log": (
        replace(sound(), given=[*sound().given, given(B, 9, 9)]),
        "delivered what is not in the log: 1",
    ),
    "wrong position": (
        replace(sound(), given=[*sound().given, given(B, 4, 9)._replace(value="v3")]),
        "delivered with a wrong position: 1",
    ),
    "read below the commit": (
        replace(sound(), given=[*sound().given, given(B, 2, 7.5)]),
        "delivered below the offset that was committed before the claim: 1",
    ),
    "repeated within a claim": (
        replace(sound(), given=[*sound().given, given(B, 4, 10.5)]),
        "repeated within one claim: 1",
    ),
    "no claim": (
        replace(sound(), given=[*sound().given, given(A, 5, 0.2)]),
        "delivered below the offset that was committed before the claim: 1",
    ),
    "released uncommitted": (
        with_writes("no commit"),
        "released with more than one message uncommitted: 1",
    ),
    "committed early": (with_writes("early commit"), "committed before it was delivered: 1"),
    "moved back": (with_writes("moved back"), "an offset of ours moved back: 1"),
    "other end": (replace(sound(), committed={TP: 5}), "committed is not what was delivered: 1"),
    "thread left": (
        replace(sound(), left_behind={A: LeftBehind((), ("control",), ())}),
        "left threads or descriptors behind: 1",
    ),
    "no report": (replace(sound(), left_behind={A: None}), "members that did not end when told: 1"),
}


@pytest.mark.parametrize("fault", list(PLANTED))
def test_a_planted_fault_is_told(fault: str) -> None:
    """Each check fails on what it is for."""
    evidence, complaint = PLANTED[fault]
    verdict = judge(evidence)
    assert not verdict.good
    assert any(one.startswith(complaint) for one in verdict.wrong), verdict.wrong


def test_a_hand_over_in_zookeepers_absence_may_leave_something_uncommitted() -> None:
    """It is counted, and only then excused."""
    evidence = with_writes("no commit")
    away = Interval(ZOOKEEPER_AWAY, "", 4_500, 5_500)
    verdict = judge(replace(evidence, intervals=[*evidence.intervals, away]))
    assert verdict.good, verdict.wrong
    assert verdict.counts["of these uncommitted, since ZooKeeper was away"] == 1


def test_what_the_original_writes_over_a_commit_of_ours_is_its_own_doing() -> None:
    """It was frozen, and knows an old offset; ours had committed all before it handed over."""
    zk = Zk()
    zk.claim(1, A)
    zk.commit(5, A, 3)
    zk.commit(5, C, 1)
    zk.release(6, A)
    evidence = replace(sound(), history=group_history(zk.writes, BASE))
    verdict = judge(evidence)
    assert [one for one in verdict.wrong if "released" in one] == []
    assert verdict.counts["offsets moved back by the original"] == 1


def test_what_is_not_in_the_log_was_lost_by_kafka() -> None:
    """An acknowledged message that the leaders do not have is no fault of a consumer's."""
    evidence = sound()
    log = {value: where for value, where in evidence.log.items() if value != "v1"}
    verdict = judge(
        replace(evidence, log=log, given=[one for one in evidence.given if one.value != "v1"])
    )
    assert verdict.kafka_lost == ["v1"]
    assert not verdict.good
    assert verdict.counts["lost"] == 0


def test_the_original_may_take_one_message_with_it_when_it_is_killed() -> None:
    """It commits a message before it writes it out; what is behind that one is not excused."""
    zk = Zk()
    zk.claim(1, C)
    zk.commit(5, C, 3)
    zk.release(9, C, session_ended=True)
    zk.claim(10, A)
    zk.commit(15, A, 6)
    zk.release(16, A)
    evidence = replace(
        sound(),
        given=[given(C, 0, 2), given(C, 1, 3), *(given(A, n, 8 + n) for n in (3, 4, 5))],
        history=group_history(zk.writes, BASE),
        intervals=[Interval("kill", C, 6_000, 6_100)],
    )
    verdict = judge(evidence)
    assert verdict.good, verdict.wrong
    assert verdict.counts["lost in the hand of the killed original"] == 1
    assert not judge(replace(evidence, intervals=[])).good
