"""The thread of a range's pump: when it runs, how it ends, and who frees the pump."""

from collections.abc import Callable
from typing import Any, Final, cast

import pytest

from tests.support.interrupting import Interrupted, interrupt
from zkconsumer.errors import ConsumerForked, ZkConsumerError
from zkconsumer.fetch import range_pump
from zkconsumer.fetch.core.broker_delegation import BrokerDelegation
from zkconsumer.fetch.range_pump import RangePump

DELEGATION: Final = BrokerDelegation(fetches=[], states=[], part_bytes=1, grown_bytes=0)


class FakeScope:
    """A ``ThreadScope`` whose threads run when a test says so."""

    def __init__(self, calls: list[str]) -> None:
        self.calls = calls
        self.name = "range t-0"
        self.bodies: list[Callable[[], None]] = []
        self.has_threads = True
        self.ends_in_time = True
        self.errors: list[BaseException] = []

    def spawn(self, role: str, run: Callable[[], None], *, stop: Callable[[], None]) -> None:
        """See ``ThreadScope``."""
        assert (role, bool(stop)) == ("pump", True)
        if not self.has_threads:
            raise RuntimeError("can't start new thread")
        self.bodies.append(run)

    def run(self) -> None:
        """Run the first thread that was spawned to its end."""
        try:
            self.bodies.pop(0)()
        except BaseException as error:  # noqa: BLE001 - a thread's top
            self.errors.append(error)

    def close(self, timeout_ms: int) -> list[str]:
        """See ``ThreadScope``."""
        assert timeout_ms > 0
        self.calls.append("scope.close")
        if not self.ends_in_time:
            return ["range t-0/pump"]
        while self.bodies:
            self.run()
        return []


class Bench:
    """A pump with a connection that is far behind; ``calls`` are those of all its parts."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.scope = FakeScope(self.calls)
        self.is_behind = True
        self.on_run: Callable[[], None] = lambda: None
        self.on_wait: Callable[[], bool] = lambda: False
        self.on_notify: Callable[[], None] = lambda: None
        patch.setattr(range_pump, "ThreadScope", lambda _: self.scope)
        self.pump = RangePump(cast("Any", self), cast("Any", self), cast("Any", self), "range t-0")

    # As the connection, and as its pump:

    def stop(self) -> None:
        """See ``FetchConnection`` and ``PumpedConnection``."""
        self.calls.append("stop")

    # As the pump:

    def clear_call(self) -> None:
        """See ``PumpedConnection``."""
        self.calls.append("clear_call")

    def begin(self) -> BrokerDelegation | None:
        """See ``PumpedConnection``."""
        self.calls.append("begin")
        return DELEGATION if self.is_behind else None

    def run(self, delegation: BrokerDelegation) -> None:
        """See ``PumpedConnection``."""
        assert delegation is DELEGATION
        self.calls.append("run")
        self.on_run()

    def give_back(self, delegation: BrokerDelegation) -> None:
        """See ``PumpedConnection``."""
        assert delegation is DELEGATION
        self.calls.append("give_back")

    def close(self) -> None:
        """See ``PumpedConnection``."""
        self.calls.append("close")

    # As the event:

    def notify(self) -> None:
        """See ``WakeEvent``."""
        self.calls.append("notify")
        self.on_notify()

    def wait(self, timeout_ms: int) -> bool:
        """See ``WakeEvent``."""
        assert 0 < timeout_ms < 1_000
        self.calls.append("wait")
        return self.on_wait()

    def end_run(self) -> bool:
        """Let the thread run to its end during a wait."""
        self.scope.run()
        return True


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench."""
    return Bench(monkeypatch)


def test_nothing_runs_at_the_end_of_a_range(bench: Bench) -> None:
    """Then Python fetches."""
    bench.is_behind = False
    assert not bench.pump.start()
    assert not bench.pump.is_running
    assert bench.scope.bodies == []


def test_a_run_lasts_until_the_reader_has_noticed_its_end(bench: Bench) -> None:
    """It is told of it; the next run has another thread."""
    for _ in range(2):
        assert bench.pump.start()
        assert bench.pump.is_running
        assert not bench.pump.take_end()
        bench.scope.run()
        assert bench.pump.is_running
        assert bench.pump.take_end()
        assert not bench.pump.is_running
    assert bench.calls == ["clear_call", "begin", "run", "notify"] * 2


def test_calls_of_former_runs_are_forgotten_before_the_next(bench: Bench) -> None:
    """A hedged request calls its run; else all later ones would return without a request."""
    assert bench.pump.start()
    assert bench.calls == ["clear_call", "begin"]


def test_without_threads_python_fetches(bench: Bench) -> None:
    """The partition is taken back, and no thread is tried again over this connection."""
    bench.scope.has_threads = False
    assert not bench.pump.start()
    assert not bench.pump.is_running
    bench.scope.has_threads = True
    assert not bench.pump.start()
    assert bench.calls == ["clear_call", "begin", "give_back"]
    bench.pump.close(is_done=False)
    assert bench.calls[3:] == ["scope.close", "close"]


def test_a_reading_that_ends_early_ends_its_run(bench: Bench) -> None:
    """Its connection is closed: a response is outstanding. The pump is freed after the thread."""
    assert bench.pump.start()
    bench.pump.close(is_done=False)
    assert bench.calls[2:] == ["stop", "stop", "scope.close", "run", "close", "notify", "close"]


def test_a_run_that_ends_with_its_range_leaves_the_connection_usable(bench: Bench) -> None:
    """The reader waits for it."""
    assert bench.pump.start()
    bench.on_wait = bench.end_run
    bench.pump.close(is_done=True)
    assert "stop" not in bench.calls
    assert bench.calls[2:4] == ["wait", "run"]


def test_news_of_chunks_do_not_end_the_wait_for_a_run(bench: Bench) -> None:
    """They share one event."""
    assert bench.pump.start()
    news = [True, True]
    bench.on_wait = lambda: news.pop() if news else bench.end_run()
    bench.pump.close(is_done=True)
    assert news == []
    assert "stop" not in bench.calls


def test_a_run_that_does_not_end_with_its_range_is_stopped(bench: Bench) -> None:
    """After a moment."""
    assert bench.pump.start()
    bench.pump.close(is_done=True)
    assert bench.calls[2:6] == ["wait", "stop", "stop", "scope.close"]


def test_a_thread_that_does_not_end_in_time_frees_its_pump_itself(bench: Bench) -> None:
    """No other thread may: it may be in use."""
    assert bench.pump.start()
    bench.scope.ends_in_time = False
    bench.pump.close(is_done=False)
    assert bench.calls[2:] == ["stop", "stop", "scope.close"]
    bench.scope.run()
    assert bench.calls[5:] == ["run", "close", "notify"]


def test_a_pump_that_never_ran_is_freed(bench: Bench) -> None:
    """It has no thread to wait for, and its connection stays as it is."""
    bench.pump.close(is_done=False)
    assert bench.calls == ["scope.close", "close"]


def test_waits_of_the_reader_are_short(bench: Bench) -> None:
    """A signal handler has to run in between."""
    bench.pump.wait()
    assert bench.calls == ["wait"]


def _die() -> None:
    raise LookupError("a fault of ours")


def test_a_thread_that_died_is_an_error_of_the_reading(bench: Bench) -> None:
    """Not a reading that goes on as if nothing had been."""
    bench.on_run = _die
    assert bench.pump.start()
    bench.scope.run()
    with pytest.raises(ZkConsumerError, match="a fault of ours"):
        bench.pump.take_end()
    assert not bench.pump.is_running


def test_a_thread_that_dies_is_no_end_without_an_error(bench: Bench) -> None:
    """The reader that is told of the end may look before the thread's top has noted the error."""
    bench.on_run = _die
    assert bench.pump.start()
    seen: list[bool] = []

    def look() -> None:
        with pytest.raises(ZkConsumerError, match="a fault of ours"):
            seen.append(bench.pump.take_end())

    bench.on_notify = look
    bench.scope.run()
    assert bench.calls[-1] == "notify"
    assert seen == []


def test_the_last_step_of_a_run_does_not_free_the_pump_of_the_next(bench: Bench) -> None:
    """The next thread may be in it, in C."""
    assert bench.pump.start()

    def go_on() -> None:
        bench.on_notify = lambda: None
        assert bench.pump.take_end()
        assert bench.pump.start()
        bench.scope.ends_in_time = False
        bench.pump.close(is_done=False)

    bench.on_notify = go_on
    bench.scope.run()
    assert bench.calls[-1] != "close"


def test_a_signal_handler_that_raises_while_a_run_ends_does_not_leave_it(bench: Bench) -> None:
    """Else the thread and the connection stay for ever."""
    assert bench.pump.start()
    bench.on_wait = cast("Callable[[], bool]", interrupt)
    with pytest.raises(Interrupted):
        bench.pump.close(is_done=True)
    assert bench.calls[3:] == ["stop", "stop"]


def test_a_forked_child_leaves_everything_to_its_parent(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its copies are of a thread that it does not have, and of the parent's connection."""
    assert bench.pump.start()
    monkeypatch.setattr("zkconsumer.fetch.range_pump.os.getpid", lambda: -1)
    with pytest.raises(ConsumerForked, match="range t-0: its parent process reads it"):
        bench.pump.wait()
    bench.pump.close(is_done=False)
    assert bench.calls == ["clear_call", "begin"]
