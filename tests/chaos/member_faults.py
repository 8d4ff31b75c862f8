"""What happens to members; each function awaits the effect, and heals it."""

import random
from collections.abc import Callable

from tests.chaos.cast import SLEEP, THAW, Actor, OurActor
from tests.chaos.stage import EFFECT_S, GROUP, ORIGINAL, OURS, SESSION_MS, Stage, pick
from tests.histories.rules import EXPIRE, FREEZE, KILL, LEAVE
from zkconsumer.errors import SandboxError

EVERYONE = (*OURS, ORIGINAL)
_STOP_MS = 30_000
_ORIGINAL_BACK_S = 20


def kill(stage: Stage, place: str) -> str:
    """SIGKILL the member in this place and say who it was; the place is empty then."""
    actor = stage.actors.pop(place)
    began_ms = stage.clock.wall_ms()
    actor.kill()
    stage.note_fault(KILL, actor.consumer_id, began_ms)
    return actor.consumer_id


def _gone(stage: Stage, actor_id: str) -> Callable[[], bool]:
    return lambda: actor_id not in stage.tree.members(GROUP)


def kill_ours(stage: Stage, chance: random.Random) -> str:
    """SIGKILL one of ours; a new one comes at once, or when the dead one's session is over."""
    place = pick(chance, stage.actors, OURS)
    return _kill_and_replace(stage, chance, place)


def kill_original(stage: Stage, chance: random.Random) -> str:
    """SIGKILL the original."""
    return _kill_and_replace(stage, chance, ORIGINAL)


def _kill_and_replace(stage: Stage, chance: random.Random, *places: str) -> str:
    dead = [kill(stage, place) for place in places]
    at_once = chance.random() < 0.5
    if at_once:
        for place in places:
            stage.enter(place)
    for name in dead:
        stage.wait(_gone(stage, name), timeout_s=EFFECT_S, what=f"the end of {name}'s session")
    if not at_once:
        for place in places:
            stage.enter(place)
    return f"{', '.join(dead)}; replaced {'at once' if at_once else 'after the session'}"


def kill_two(stage: Stage, chance: random.Random) -> str:
    """SIGKILL two members together."""
    return _kill_and_replace(stage, chance, *chance.sample(EVERYONE, 2))


def freeze_shortly(stage: Stage, chance: random.Random) -> str:
    """SIGSTOP a member for a part of its session's time."""
    actor = stage.actors[pick(chance, stage.actors, EVERYONE)]
    duration_ms = chance.randrange(SESSION_MS // 8, SESSION_MS // 2)
    began_ms = stage.clock.wall_ms()
    actor.signal(SLEEP)
    try:
        stage.pause(duration_ms)
    finally:
        actor.signal(THAW)
        stage.note_fault(FREEZE, actor.consumer_id, began_ms)
    return f"{actor.consumer_id} for {duration_ms} ms"


def freeze_long(stage: Stage, chance: random.Random) -> str:
    """SIGSTOP a member until its session is over and, perhaps, others read its partitions."""
    actor = stage.actors[pick(chance, stage.actors, EVERYONE)]
    session = stage.session_of(actor)
    began_ms = stage.clock.wall_ms()
    actor.signal(SLEEP)
    try:
        gone = _gone(stage, actor.consumer_id)
        stage.wait(gone, timeout_s=EFFECT_S, what=f"the end of {actor.consumer_id}'s session")
        stage.pause(chance.choice((0, 0, 1_500, 3_000)))
    finally:
        actor.signal(THAW)
        stage.note_fault(FREEZE, actor.consumer_id, began_ms)
    return _await_new_session(stage, actor, session)


def _await_new_session(stage: Stage, actor: Actor, session: int | None) -> str:
    """Wait until it is back; the original may not come back, and is replaced then."""

    def back() -> bool:
        return stage.session_of(actor) not in {session, None}

    what = f"{actor.consumer_id} to register in a new session"
    if isinstance(actor, OurActor):
        stage.wait(back, timeout_s=EFFECT_S, what=what)
        return actor.consumer_id
    try:
        stage.wait(back, timeout_s=_ORIGINAL_BACK_S, what=what)
    except AssertionError:
        kill(stage, ORIGINAL)
        stage.wait(_gone(stage, actor.consumer_id), timeout_s=EFFECT_S, what="its end")
        stage.enter(ORIGINAL)
        return f"{actor.consumer_id}, which did not come back and was replaced"
    return actor.consumer_id


def expire_session(stage: Stage, chance: random.Random) -> str:
    """End the session of a member that works."""
    actor = stage.actors[pick(chance, stage.actors, EVERYONE)]
    session = stage.session_of(actor)
    if session is None:
        return f"{actor.consumer_id} has no session to end"
    began_ms = stage.clock.wall_ms()
    try:
        stage.expire(session)
    except SandboxError as error:
        return f"{actor.consumer_id}: {error}"
    stage.note_fault(EXPIRE, actor.consumer_id, began_ms)
    return _await_new_session(stage, actor, session)


def leave_and_return(stage: Stage, chance: random.Random) -> str:
    """Stop one of ours in order; another one comes."""
    place = pick(chance, stage.actors, OURS)
    actor = stage.actors.pop(place)
    assert isinstance(actor, OurActor)
    stage.wait(actor.can_leave, timeout_s=EFFECT_S, what=f"the start of {actor.consumer_id}")
    began_ms = stage.clock.wall_ms()
    assert actor.stop(_STOP_MS), f"{actor.consumer_id} did not end: {actor.last_words()}"
    assert actor.poll() == 0, f"{actor.consumer_id} died: {actor.last_words()}"
    stage.note_fault(LEAVE, actor.consumer_id, began_ms)
    stage.wait(_gone(stage, actor.consumer_id), timeout_s=EFFECT_S, what="the leaving")
    stage.enter(place)
    return actor.consumer_id
