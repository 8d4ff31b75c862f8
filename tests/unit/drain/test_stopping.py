"""Which signals end a drain, and which are not ours to handle."""

import signal
from collections.abc import Iterator

import pytest

from zkconsumer.drain.stopping import DrainStopFlag, ignored_signals, stop_signals


@pytest.fixture(autouse=True)
def _signals_as_before() -> Iterator[None]:
    before = {signals: signal.getsignal(signals) for signals in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_requests_a_stop_and_the_second_interrupts(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first ends the run after its batch; the former handlers are restored at the end."""
    stop, before = DrainStopFlag(), signal.getsignal(number)
    with stop_signals(stop, ignored_signals()):
        signal.raise_signal(number)
        assert stop.requested()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert signal.getsignal(number) is before
    assert capsys.readouterr().err == "stopping after this batch; repeat to stop at once\n"


def test_signals_ignored_before_spark_started_stay_ignored() -> None:
    """Spark handles Ctrl-C even in a background script, where it is not meant for us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stop, ignored = DrainStopFlag(), ignored_signals()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # as Spark's start does
    with stop_signals(stop, ignored):
        signal.raise_signal(signal.SIGINT)
        assert not stop.requested()
        signal.raise_signal(signal.SIGTERM)
        assert stop.requested()
