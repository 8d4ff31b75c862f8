"""What comes next on the way to the coordinator's answer."""

import pytest

from zkconsumer.error_codes import ErrorCode
from zkconsumer.offsets import coordinator_state as st
from zkconsumer.offsets.coordinator_state import CoordinatorCall, Verdict, judge, passes

DONE, AGAIN, ELSEWHERE = (
    st.Answered(verdict) for verdict in (Verdict.DONE, Verdict.ASK_AGAIN, Verdict.LOOK_UP)
)
HUNG_UP = st.NotFound("all hung up", all_hung_up=True)
SILENT = st.NotFound("nobody answers")
BROKE = st.Broke("reset", closed=True)
PAUSE = st.Pause(100)


def call(
    *, has_channel: bool = False, tries: int | None = None, backoff_ms: int = 100
) -> CoordinatorCall:
    """A call that has until 1,000 ms."""
    return CoordinatorCall(
        has_channel=has_channel, tries=tries, backoff_ms=backoff_ms, deadline_ms=1_000
    )


def run(state: CoordinatorCall, *events: st.Event, now_ms: int = 0) -> list[st.Action]:
    """What it says at first and after each event, all at one moment."""
    return [state.begin(), *(state.receive(event, now_ms) for event in events)]


@pytest.mark.parametrize(
    ("codes", "verdict"),
    [
        ((), Verdict.DONE),
        ((0, 0), Verdict.DONE),
        ((0, 14), Verdict.ASK_AGAIN),
        ((14, 16), Verdict.LOOK_UP),
        ((15,), Verdict.LOOK_UP),
        ((7,), Verdict.ASK_AGAIN),
        ((19, 12), Verdict.ASK_AGAIN),
        ((20,), Verdict.ASK_AGAIN),
        ((12, 0), Verdict.DONE),
        ((3, 22, 25, 27, 30, -1, 4711), Verdict.DONE),
    ],
)
def test_one_code_that_passes_is_enough_to_try_again(
    codes: tuple[int, ...], verdict: Verdict
) -> None:
    """And one that says "not here" is enough to look elsewhere; all others stand."""
    assert judge(codes) is verdict
    assert passes(ErrorCode.NOT_COORDINATOR)
    assert not passes(ErrorCode.OFFSET_METADATA_TOO_LARGE)


def test_a_first_call_looks_then_asks() -> None:
    """Without a channel there must be one first."""
    assert run(call(), st.Found(), DONE) == [st.LookUp(), st.Ask(), st.Finish()]


def test_a_later_call_asks_at_once() -> None:
    """The channel of an earlier call is used."""
    assert run(call(has_channel=True), DONE) == [st.Ask(), st.Finish()]


def test_an_idle_channel_that_was_closed_does_not_count() -> None:
    """Brokers close connections that were idle: looked up at once, even with a single try."""
    actions = run(call(has_channel=True, tries=1), BROKE, st.Found(), DONE)
    assert actions == [st.Ask(), st.LookUp(), st.Ask(), st.Finish()]


def test_that_excuse_holds_once() -> None:
    """A coordinator that closes the new connection, too, is in trouble."""
    actions = run(call(has_channel=True, tries=1), BROKE, st.Found(), BROKE)
    assert actions[-1] == st.GiveUp("reset")


def test_an_idle_channel_that_is_silent_counts() -> None:
    """The coordinator has had its time; and so does one that had answered before."""
    silent = run(call(has_channel=True, tries=1), st.Broke("silent", closed=False))
    assert silent == [st.Ask(), st.GiveUp("silent")]
    answered = run(call(has_channel=True, tries=2), AGAIN, st.Paused(), BROKE)
    assert answered == [st.Ask(), PAUSE, st.Ask(), st.GiveUp("reset")]


def test_later_is_asked_on_the_same_channel() -> None:
    """One that loads its offsets is the right one."""
    assert run(call(), st.Found(), AGAIN, st.Paused())[2:] == [PAUSE, st.Ask()]


def test_elsewhere_is_looked_for() -> None:
    """One that is not the coordinator is left, after a pause."""
    assert run(call(), st.Found(), ELSEWHERE, st.Paused())[2:] == [PAUSE, st.LookUp()]


def test_a_broken_channel_is_looked_for() -> None:
    """Its end may be the coordinator's end."""
    assert run(call(), st.Found(), BROKE, st.Paused())[2:] == [PAUSE, st.LookUp()]


def test_tries_run_out() -> None:
    """An answer then stands, whatever it says; without one it is given up."""
    assert run(call(tries=2), st.Found(), AGAIN, st.Paused(), AGAIN)[2:] == [
        PAUSE,
        st.Ask(),
        st.Finish(),
    ]
    assert run(call(tries=2), SILENT, st.Paused(), SILENT) == [
        st.LookUp(),
        PAUSE,
        st.LookUp(),
        st.GiveUp("nobody answers"),
    ]


def test_time_runs_out() -> None:
    """No pause begins that the time would not outlast."""
    assert call().receive(SILENT, 899) == PAUSE
    assert call().receive(SILENT, 900) == st.GiveUp("nobody answers")
    answered = call(has_channel=True)
    assert answered.receive(AGAIN, 900) == st.Finish()


def test_a_pause_that_took_too_long() -> None:
    """What was last heard counts, not a last try that nobody has time for."""
    silent = call()
    assert silent.receive(SILENT, 0) == PAUSE
    assert silent.receive(st.Paused(), 1_000) == st.GiveUp("nobody answers")
    answered = call(has_channel=True)
    assert answered.receive(AGAIN, 0) == PAUSE
    assert answered.receive(st.Paused(), 1_000) == st.Finish()


def test_brokers_that_hang_up_at_the_question_are_too_old() -> None:
    """Three rounds in a row are proof enough, however much time is left."""
    actions = run(call(), HUNG_UP, st.Paused(), HUNG_UP, st.Paused(), HUNG_UP)
    assert actions[-1] == st.GiveUp("all hung up", too_old=True)


def test_one_other_failure_clears_them_of_that() -> None:
    """A broker on its way up or down hangs up, too."""
    events = (HUNG_UP, st.Paused(), HUNG_UP, st.Paused(), SILENT, st.Paused(), HUNG_UP)
    assert run(call(), *events)[-1] == PAUSE


def test_no_backoff_is_a_short_one() -> None:
    """A zero in the settings does not turn into a flood of requests."""
    assert call(backoff_ms=0).receive(SILENT, 0) == st.Pause(st.LEAST_PAUSE_MS)
