"""What comes next on the way to the coordinator's answer."""

import pytest

from zkconsumer.error_codes import ErrorCode
from zkconsumer.offsets import coordinator_state as st
from zkconsumer.offsets.coordinator_state import CoordinatorCall, ResponseOutcome, judge, passes

DONE, AGAIN, ELSEWHERE = (
    st.Tried(outcome=outcome)
    for outcome in (ResponseOutcome.DONE, ResponseOutcome.RETRY, ResponseOutcome.LOOK_UP)
)
HUNG_UP = st.Tried(reason="all hung up", all_hung_up=True)
SILENT = st.Tried(reason="nobody answers")
BROKE = st.Tried(reason="reset", closed=True)
PAUSE, NO_PAUSE = st.Pause(100), st.Pause(0)


def call(
    *, inherited: bool = False, tries: int | None = None, backoff_ms: int = 100
) -> CoordinatorCall:
    """A call that has until 1,000 ms."""
    return CoordinatorCall(
        inherited=inherited, tries=tries, backoff_ms=backoff_ms, deadline_ms=1_000
    )


def run(state: CoordinatorCall, *tries: st.Tried, now_ms: int = 0) -> list[st.Pause | st.End]:
    """What it says after each try, all at one moment."""
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
def test_one_code_that_passes_is_enough_to_try_again(
    codes: tuple[int, ...], outcome: ResponseOutcome
) -> None:
    """And one that says "not here" is enough to look elsewhere; all others stand."""
    assert judge(codes) is outcome
    assert passes(ErrorCode.NOT_COORDINATOR)
    assert not passes(ErrorCode.OFFSET_METADATA_TOO_LARGE)


def test_a_good_answer_ends_it() -> None:
    """At once, and whatever came before."""
    assert run(call(), DONE) == run(call(inherited=True, tries=1), DONE) == [st.Finish()]
    assert run(call(), HUNG_UP, SILENT, DONE) == [PAUSE, PAUSE, st.Finish()]


def test_an_idle_connection_that_was_closed_does_not_count() -> None:
    """Brokers close connections that were idle: tried again at once, even with a single try."""
    assert run(call(inherited=True, tries=1), BROKE, DONE) == [NO_PAUSE, st.Finish()]


def test_that_excuse_holds_once() -> None:
    """A coordinator that closes the new connection, too, is in trouble."""
    assert run(call(inherited=True, tries=1), BROKE, BROKE) == [NO_PAUSE, st.RequestFailed("reset")]
    assert run(call(tries=1), BROKE) == [st.RequestFailed("reset")]


def test_an_idle_connection_that_is_silent_counts() -> None:
    """The coordinator has had its time; and so does one that had answered before."""
    assert run(call(inherited=True, tries=1), SILENT) == [st.RequestFailed("nobody answers")]
    assert run(call(inherited=True, tries=2), AGAIN, BROKE) == [PAUSE, st.RequestFailed("reset")]


@pytest.mark.parametrize("tried", [AGAIN, ELSEWHERE, SILENT, BROKE, HUNG_UP])
def test_what_passes_is_tried_again_after_a_pause(tried: st.Tried) -> None:
    """Every retriable error code is retried."""
    state = call()
    assert state.after(tried, 0) == PAUSE
    assert state.after_pause(100) is None


def test_tries_run_out() -> None:
    """An answer then stands, whatever it says; without one it is given up."""
    assert run(call(tries=2), AGAIN, AGAIN) == [PAUSE, st.Finish()]
    assert run(call(tries=2), SILENT, SILENT) == [PAUSE, st.RequestFailed("nobody answers")]


def test_time_runs_out() -> None:
    """No pause begins that the time would not outlast."""
    assert call().after(SILENT, 899) == PAUSE
    assert call().after(SILENT, 900) == st.RequestFailed("nobody answers")
    assert call().after(AGAIN, 900) == st.Finish()


def test_a_try_that_time_cuts_short_hides_no_reason() -> None:
    """What was told before comes first: that nobody answered in the last moment says little."""
    cut, again, served = call(), call(), call()
    assert run(cut, BROKE) == run(again, SILENT) == run(served, AGAIN) == [PAUSE]
    assert cut.after(SILENT, 1_000) == st.RequestFailed(
        "reset; then nobody answers, as time was over"
    )
    assert again.after(SILENT, 1_000) == st.RequestFailed("nobody answers")
    assert served.after(SILENT, 1_000) == st.RequestFailed("nobody answers")


def test_a_pause_that_took_too_long() -> None:
    """What was last heard counts, not a last try that nobody has time for."""
    silent, served, excused = call(), call(), call(inherited=True)
    assert run(silent, SILENT) == run(served, AGAIN) == [PAUSE]
    assert run(excused, BROKE) == [NO_PAUSE]
    assert silent.after_pause(1_000) == st.RequestFailed("nobody answers")
    assert served.after_pause(1_000) == st.Finish()
    assert excused.after_pause(1_000) == st.RequestFailed("reset")


def test_brokers_that_hang_up_at_the_question_are_too_old() -> None:
    """Three rounds in a row are proof enough, however much time is left."""
    assert run(call(), HUNG_UP, HUNG_UP, HUNG_UP)[-1] == st.RequestFailed(
        "all hung up", too_old=True
    )


@pytest.mark.parametrize("other", [SILENT, BROKE, AGAIN])
def test_one_other_failure_clears_them_of_that(other: st.Tried) -> None:
    """A broker on its way up or down hangs up, too."""
    assert run(call(), HUNG_UP, HUNG_UP, other, HUNG_UP)[-1] == PAUSE


def test_no_backoff_is_a_short_one() -> None:
    """A zero in the settings does not turn into a flood of requests."""
    assert call(backoff_ms=0).after(SILENT, 0) == st.Pause(st.LEAST_PAUSE_MS)
