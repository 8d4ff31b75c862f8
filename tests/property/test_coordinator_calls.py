"""Calls to a coordinator with random outcomes: they end, in time, and in order."""

from hypothesis import given, settings
from hypothesis import strategies as some

from tests.support.shares import examples
from zkconsumer.offsets import coordinator_state as st

OUTCOMES = [
    *(st.AttemptResult(outcome=outcome) for outcome in st.ResponseOutcome),
    *(st.AttemptResult(reason="broke", closed=closed) for closed in (False, True)),
    st.AttemptResult(reason="nobody", all_hung_up=True),
]
"""The last one is the least helpful."""
MOST_STEPS = 5_000


@settings(max_examples=examples(300), deadline=None)
@given(
    rolls=some.lists(some.integers(0, 99), max_size=60),
    inherited=some.booleans(),
    tries=some.none() | some.integers(1, 7),
    backoff_ms=some.integers(0, 3_000),
    limit_ms=some.integers(1, 30_000),
)
def test_every_call_ends(
    rolls: list[int], *, inherited: bool, tries: int | None, backoff_ms: int, limit_ms: int
) -> None:
    """It does within its time and attempts, with a success, or with a failure that was one.

    Pauses may take too long. Once the rolls are used up, every outcome is unhelpful.
    """
    call = st.CoordinatorCall(
        inherited=inherited, tries=tries, backoff_ms=backoff_ms, deadline_ms=limit_ms
    )
    now_ms, failures, excused, left = 0, 0, 0, list(rolls)
    for _ in range(MOST_STEPS):
        roll = left.pop() if left else 95
        tried = OUTCOMES[roll % len(OUTCOMES)] if left else OUTCOMES[-1]
        good = tried.outcome is st.ResponseOutcome.DONE
        failures += not good
        action: st.Pause | st.End | None = call.after(tried, now_ms)
        assert not good or action == st.Finish()
        if isinstance(action, st.Pause):
            excused += action.delay_ms == 0
            assert action.delay_ms == 0 or now_ms + action.delay_ms < limit_ms
            now_ms += action.delay_ms * (1 + roll % 3)
            action = call.after_pause(now_ms)
            assert (action is not None) == (now_ms >= limit_ms)
        # One failure is not counted: that on a connection which was closed meanwhile.
        assert excused <= inherited
        assert tries is None or failures <= tries + excused
        match action:
            case st.Finish():
                assert tried.outcome is not None
                over = now_ms + max(backoff_ms, st.LEAST_PAUSE_MS) >= limit_ms
                assert good or over or failures - excused == tries
                return
            case st.RequestFailed(reason=reason, too_old=too_old):
                assert (tried.outcome, tried.reason) == (None, reason)
                assert not too_old or failures >= st.TOO_OLD_ROUNDS
                return
            case _:
                assert action is None
    raise AssertionError(f"no end after {MOST_STEPS} steps")
