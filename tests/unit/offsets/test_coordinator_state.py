"""The next step on the way to a response of the coordinator."""

import pytest

from zkconsumer.error_codes import ErrorCode
from zkconsumer.offsets import coordinator_state as st
from zkconsumer.offsets.coordinator_state import (
    CoordinatorCall,
    ResponseOutcome,
    is_retriable,
    outcome_of,
)

DONE, AGAIN, ELSEWHERE = (
    st.AttemptResult(outcome=outcome)
    for outcome in (ResponseOutcome.DONE, ResponseOutcome.RETRY, ResponseOutcome.LOOK_UP)
)
HUNG_UP = st.AttemptResult(reason="all hung up", all_hung_up=True)
SILENT = st.AttemptResult(reason="nobody answers")
BROKE = st.AttemptResult(reason="reset", closed=True)
PAUSE, NO_PAUSE = st.Pause(100), st.Pause(0)


def call(
    *, inherited: bool = False, tries: int | None = None, backoff_ms: int = 100
) -> CoordinatorCall:
    """Return a call that has until 1,000 ms."""
    return CoordinatorCall(
        inherited=inherited, tries=tries, backoff_ms=backoff_ms, deadline_ms=1_000
    )


def run(
    state: CoordinatorCall, *tries: st.AttemptResult, now_ms: int = 0
) -> list[st.Pause | st.End]:
    """Return the next step after each attempt, all at one time."""
    return [state.after(tried, now_ms) for tried in tries]


@pytest.mark.parametrize(
    ("codes", "outcome"),
    [
        ((), ResponseOutcome.DONE),
        ((0, 0), ResponseOutcome.DONE),
        ((0, 14), ResponseOutcome.RETRY),
        ((14, 16), ResponseOutcome.LOOK_UP),
        ((15,), ResponseOutcome.LOOK_UP),
        ((7,), ResponseOutcome.RETRY),
        ((19, 12), ResponseOutcome.RETRY),
        ((20,), ResponseOutcome.RETRY),
        ((12, 0), ResponseOutcome.DONE),
        ((3, 22, 25, 27, 30, -1, 4711), ResponseOutcome.DONE),
    ],
)
def test_one_retriable_code_is_enough_to_retry(
    codes: tuple[int, ...], outcome: ResponseOutcome
) -> None:
    """One "not coordinator" is enough for a new lookup; other codes are final."""
    assert outcome_of(codes) is outcome
    assert is_retriable(ErrorCode.NOT_COORDINATOR)
    assert not is_retriable(ErrorCode.OFFSET_METADATA_TOO_LARGE)


def test_a_successful_response_ends_the_call() -> None:
    """It ends at once, whatever came before."""
    assert run(call(), DONE) == run(call(inherited=True, tries=1), DONE) == [st.Finish()]
    assert run(call(), HUNG_UP, SILENT, DONE) == [PAUSE, PAUSE, st.Finish()]


def test_an_idle_connection_that_was_closed_does_not_count() -> None:
    """Brokers close idle connections: this is repeated at once, even with a single attempt."""
    assert run(call(inherited=True, tries=1), BROKE, DONE) == [NO_PAUSE, st.Finish()]


def test_only_the_first_broken_connection_does_not_count() -> None:
    """A coordinator that closes the new connection, too, is in trouble."""
    assert run(call(inherited=True, tries=1), BROKE, BROKE) == [NO_PAUSE, st.RequestFailed("reset")]
    assert run(call(tries=1), BROKE) == [st.RequestFailed("reset")]


def test_a_timeout_of_an_idle_connection_counts() -> None:
    """The coordinator had its time; so had one that responded before."""
    assert run(call(inherited=True, tries=1), SILENT) == [st.RequestFailed("nobody answers")]
    assert run(call(inherited=True, tries=2), AGAIN, BROKE) == [PAUSE, st.RequestFailed("reset")]


@pytest.mark.parametrize("tried", [AGAIN, ELSEWHERE, SILENT, BROKE, HUNG_UP])
def test_a_retriable_failure_is_retried_after_a_pause(tried: st.AttemptResult) -> None:
    """Every retriable error code is retried."""
    state = call()
    assert state.after(tried, 0) == PAUSE
    assert state.after_pause(100) is None


def test_attempts_are_limited() -> None:
    """The last response is final then; without a response the call fails."""
    assert run(call(tries=2), AGAIN, AGAIN) == [PAUSE, st.Finish()]
    assert run(call(tries=2), SILENT, SILENT) == [PAUSE, st.RequestFailed("nobody answers")]


def test_time_is_limited() -> None:
    """No pause begins that would not end in time."""
    assert call().after(SILENT, 899) == PAUSE
    assert call().after(SILENT, 900) == st.RequestFailed("nobody answers")
    assert call().after(AGAIN, 900) == st.Finish()


def test_an_attempt_that_runs_out_of_time_hides_no_reason() -> None:
    """The earlier reason comes first, as a time-out in the last moment says little."""
    cut, again, served = call(), call(), call()
    assert run(cut, BROKE) == run(again, SILENT) == run(served, AGAIN) == [PAUSE]
    assert cut.after(SILENT, 1_000) == st.RequestFailed(
        "reset; then nobody answers, as time was over"
    )
    assert again.after(SILENT, 1_000) == st.RequestFailed("nobody answers")
    assert served.after(SILENT, 1_000) == st.RequestFailed("nobody answers")


def test_a_pause_that_takes_too_long_ends_the_call() -> None:
    """The last response counts, and no attempt is made without time."""
    silent, served, excused = call(), call(), call(inherited=True)
    assert run(silent, SILENT) == run(served, AGAIN) == [PAUSE]
    assert run(excused, BROKE) == [NO_PAUSE]
    assert silent.after_pause(1_000) == st.RequestFailed("nobody answers")
    assert served.after_pause(1_000) == st.Finish()
    assert excused.after_pause(1_000) == st.RequestFailed("reset")


def test_brokers_that_close_the_connection_on_lookups_are_too_old() -> None:
    """Three rounds in a row are proof enough, however much time is left."""
    assert run(call(), HUNG_UP, HUNG_UP, HUNG_UP)[-1] == st.RequestFailed(
        "all hung up", too_old=True
    )


@pytest.mark.parametrize("other", [SILENT, BROKE, AGAIN])
def test_another_failure_shows_that_brokers_are_not_too_old(other: st.AttemptResult) -> None:
    """A broker that starts or stops closes connections, too."""
    assert run(call(), HUNG_UP, HUNG_UP, other, HUNG_UP)[-1] == PAUSE


def test_a_backoff_of_0_is_a_short_one() -> None:
    """A backoff of zero must not lead to a flood of requests."""
    assert call(backoff_ms=0).after(SILENT, 0) == st.Pause(st.LEAST_PAUSE_MS)
