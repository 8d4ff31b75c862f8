"""Faults of members: each function waits for the effect, and repairs it."""

import random
from collections.abc import Callable

from tests.chaos.cast import RESUME, SUSPEND, MemberProcess, OurMember
from tests.chaos.cluster import EFFECT_S, GROUP, ORIGINAL, OURS, SESSION_MS, ChaosCluster, pick
from tests.histories.rules import EXPIRE, FREEZE, KILL, LEAVE
from zkconsumer.errors import SandboxError

ALL_SLOTS = (*OURS, ORIGINAL)
_STOP_MS = 30_000
_ORIGINAL_BACK_S = 20


def kill(cluster: ChaosCluster, slot: str) -> str:
    """Kill the member of this slot with SIGKILL, and return its id; the slot is empty then."""
    member = cluster.running.pop(slot)
    began_ms = cluster.clock.wall_ms()
    member.kill()
    cluster.note_fault(KILL, member.consumer_id, began_ms)
    return member.consumer_id


def _gone(cluster: ChaosCluster, consumer_id: str) -> Callable[[], bool]:
    return lambda: consumer_id not in cluster.tree.members(GROUP)


def kill_ours(cluster: ChaosCluster, rng: random.Random) -> str:
    """Kill one of ours; another one starts at once, or when the dead one's session has expired."""
    slot = pick(rng, cluster.running, OURS)
    return _kill_and_replace(cluster, rng, slot)


def kill_original(cluster: ChaosCluster, rng: random.Random) -> str:
    """Kill the original with SIGKILL."""
    return _kill_and_replace(cluster, rng, ORIGINAL)


def _kill_and_replace(cluster: ChaosCluster, rng: random.Random, *slots: str) -> str:
    dead = [kill(cluster, slot) for slot in slots]
    at_once = rng.random() < 0.5
    if at_once:
        for slot in slots:
            cluster.enter(slot)
    for name in dead:
        cluster.wait(_gone(cluster, name), timeout_s=EFFECT_S, what=f"the end of {name}'s session")
    if not at_once:
        for slot in slots:
            cluster.enter(slot)
    return f"{', '.join(dead)}; replaced {'at once' if at_once else 'after the session'}"


def kill_two(cluster: ChaosCluster, rng: random.Random) -> str:
    """Kill two members together."""
    return _kill_and_replace(cluster, rng, *rng.sample(ALL_SLOTS, 2))


def freeze_shortly(cluster: ChaosCluster, rng: random.Random) -> str:
    """Suspend a member for a part of its session's timeout."""
    member = cluster.running[pick(rng, cluster.running, ALL_SLOTS)]
    duration_ms = rng.randrange(SESSION_MS // 8, SESSION_MS // 2)
    began_ms = cluster.clock.wall_ms()
    member.signal(SUSPEND)
    try:
        cluster.pause(duration_ms)
    finally:
        member.signal(RESUME)
        cluster.note_fault(FREEZE, member.consumer_id, began_ms)
    return f"{member.consumer_id} for {duration_ms} ms"


def freeze_long(cluster: ChaosCluster, rng: random.Random) -> str:
    """Suspend a member until its session has expired and, perhaps, others read its partitions."""
    member = cluster.running[pick(rng, cluster.running, ALL_SLOTS)]
    session = cluster.session_of(member)
    began_ms = cluster.clock.wall_ms()
    member.signal(SUSPEND)
    try:
        gone = _gone(cluster, member.consumer_id)
        cluster.wait(gone, timeout_s=EFFECT_S, what=f"the end of {member.consumer_id}'s session")
        cluster.pause(rng.choice((0, 0, 1_500, 3_000)))
    finally:
        member.signal(RESUME)
        cluster.note_fault(FREEZE, member.consumer_id, began_ms)
    return _await_new_session(cluster, member, session)


def _await_new_session(cluster: ChaosCluster, member: MemberProcess, session: int | None) -> str:
    """Wait until the member is back; if it is the original and does not return, replace it."""

    def returned() -> bool:
        return cluster.session_of(member) not in {session, None}

    what = f"{member.consumer_id} to register in a new session"
    if isinstance(member, OurMember):
        cluster.wait(returned, timeout_s=EFFECT_S, what=what)
        return member.consumer_id
    try:
        cluster.wait(returned, timeout_s=_ORIGINAL_BACK_S, what=what)
    except AssertionError:
        kill(cluster, ORIGINAL)
        cluster.wait(_gone(cluster, member.consumer_id), timeout_s=EFFECT_S, what="its end")
        cluster.enter(ORIGINAL)
        return f"{member.consumer_id}, which did not come back and was replaced"
    return member.consumer_id


def expire_session(cluster: ChaosCluster, rng: random.Random) -> str:
    """Expire the session of a running member."""
    member = cluster.running[pick(rng, cluster.running, ALL_SLOTS)]
    session = cluster.session_of(member)
    if session is None:
        return f"{member.consumer_id} has no session to end"
    began_ms = cluster.clock.wall_ms()
    try:
        cluster.expire(session)
    except SandboxError as error:
        return f"{member.consumer_id}: {error}"
    cluster.note_fault(EXPIRE, member.consumer_id, began_ms)
    return _await_new_session(cluster, member, session)


def leave_and_return(cluster: ChaosCluster, rng: random.Random) -> str:
    """Stop one of ours gracefully, and start another one."""
    slot = pick(rng, cluster.running, OURS)
    member = cluster.running.pop(slot)
    assert isinstance(member, OurMember)
    cluster.wait(member.can_leave, timeout_s=EFFECT_S, what=f"the start of {member.consumer_id}")
    began_ms = cluster.clock.wall_ms()
    assert member.stop(_STOP_MS), f"{member.consumer_id} did not end: {member.stderr_tail()}"
    assert member.poll() == 0, f"{member.consumer_id} died: {member.stderr_tail()}"
    cluster.note_fault(LEAVE, member.consumer_id, began_ms)
    cluster.wait(_gone(cluster, member.consumer_id), timeout_s=EFFECT_S, what="the leaving")
    cluster.enter(slot)
    return member.consumer_id
