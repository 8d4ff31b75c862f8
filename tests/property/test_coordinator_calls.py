"""Calls to a coordinator in worlds where anything may happen: they end, in time, and in order."""

from hypothesis import given, settings
from hypothesis import strategies as some

from zkconsumer.offsets import coordinator_state as st

ANSWERS = [st.Answered(verdict) for verdict in st.Verdict]
BREAKS = [st.Broke("broke", closed=closed) for closed in (False, True)]
MISSES = [st.NotFound("nobody", all_hung_up=hung_up) for hung_up in (False, True)]
MOST_STEPS = 5_000


@settings(max_examples=300, deadline=None)
@given(
    rolls=some.lists(some.integers(0, 99), max_size=60),
    has_channel=some.booleans(),
    tries=some.none() | some.integers(1, 7),
    backoff_ms=some.integers(0, 3_000),
    limit_ms=some.integers(1, 30_000),
)
def test_every_call_ends(
    rolls: list[int], *, has_channel: bool, tries: int | None, backoff_ms: int, limit_ms: int
) -> None:
    """Within its time and its tries, never asking without a channel, never leaving a good answer.

    Pauses may take longer than they should. When the rolls are used up, the world stays as
    unhelpful as it can be.
    """
    call = st.CoordinatorCall(
        has_channel=has_channel, tries=tries, backoff_ms=backoff_ms, deadline_ms=limit_ms
    )
    now_ms, channel, failures = 0, has_channel, 0
    event: st.Event = st.Paused()
    heard: st.Event = event
    action, left = call.begin(), list(rolls)
    for _ in range(MOST_STEPS):
        roll = left.pop() if left else 1
        match action:
            case st.Finish():
                assert heard == event or now_ms >= limit_ms
                assert isinstance(heard, st.Answered)
                return
            case st.GiveUp(too_old=too_old):
                assert heard == event or now_ms >= limit_ms
                assert isinstance(heard, st.NotFound | st.Broke)
                assert not too_old or failures >= st.TOO_OLD_ROUNDS
                return
            case st.Pause(delay_ms):
                assert now_ms + delay_ms < limit_ms
                now_ms += delay_ms * (1 + roll % 3)
                event = st.Paused()
            case st.LookUp():
                assert not channel
                event = st.Found() if roll % 2 == 0 else MISSES[roll % 4 // 2]
                channel = isinstance(event, st.Found)
            case st.Ask():
                assert channel
                event = (ANSWERS + BREAKS)[(roll + 1) % 5]
                elsewhere = st.Answered(st.Verdict.LOOK_UP)
                channel = isinstance(event, st.Answered) and event != elsewhere
        heard = heard if event == st.Paused() else event
        failures += event not in (st.Found(), st.Paused())
        # A try may fail without being counted once: on a channel that was closed meanwhile.
        assert tries is None or failures <= tries + 1
        action = call.receive(event, now_ms)
        good = event == st.Answered(st.Verdict.DONE)
        assert not good or action == st.Finish()
    raise AssertionError(f"no end after {MOST_STEPS} steps")
