"""A request without a response costs a moment, not the whole request time-out."""

from dataclasses import replace

import pytest

from tests.fakes.fake_script import Hang
from tests.support.chunks import T0
from tests.support.fetch_bench import (
    SETTINGS,
    FetchBench,
    claim_on,
    each_loop,
    new_queue,
    take_values,
    values,
    wait_for,
)
from zkconsumer.clock import SystemClock
from zkconsumer.wire.api import ApiKey

__all__ = ["each_loop"]

pytestmark = pytest.mark.usefixtures("each_loop")

PATIENT = replace(SETTINGS, request_timeout_ms=6_000)
"""A broker counts as silent after a fifteenth of that time-out."""


@pytest.mark.parametrize(
    ("api", "committed"), [(ApiKey.FETCH, 0), (ApiKey.LIST_OFFSETS, None)], ids=["fetch", "start"]
)
def test_a_request_without_a_response_is_hedged(api: ApiKey, committed: int | None) -> None:
    """It is sent over a second connection, which is kept; no partition is given back."""
    with FetchBench() as bench:
        bench.cluster.append(T0, values("a", "b"))
        bench.brokers[0].script(api, Hang())
        queue, loop = new_queue(10), bench.loop(settings=PATIENT)
        loop.add(claim_on(queue, committed=committed), committed)
        began_ms = SystemClock().now_ms()
        bench.run(loop)
        assert take_values(queue, 2, timeout_ms=4_000) == ["a", "b"]
        assert SystemClock().now_ms() - began_ms >= 400
        bench.cluster.append(T0, values("c"))
        assert take_values(queue, 1) == ["c"]
        assert bench.opened == 2
        assert bench.lost == []


def test_requests_are_hedged_in_the_middle_of_reading() -> None:
    """Either response may be the first, and each offset comes once."""
    with FetchBench() as bench:
        queue, loop = new_queue(10), bench.loop(settings=PATIENT)
        loop.add(claim_on(queue), 0)
        bench.run(loop)
        for number in range(3):
            bench.cluster.append(T0, values(f"before {number}"))
            assert take_values(queue, 1) == [f"before {number}"]
            requested = bench.requested(ApiKey.FETCH)
            bench.brokers[0].script(ApiKey.FETCH, Hang())
            wait_for(
                lambda requested=requested: bench.requested(ApiKey.FETCH) > requested + 2,
                "the second try",
            )
            bench.cluster.append(T0, values(f"after {number}"))
            assert take_values(queue, 1) == [f"after {number}"]
        assert bench.opened == 4
        assert bench.lost == []


def test_a_silent_broker_has_the_whole_request_time_out() -> None:
    """Its partitions are given back when that is over, in spite of the second request."""
    quick = replace(SETTINGS, request_timeout_ms=1_500)
    with FetchBench() as bench:
        bench.brokers[0].script(ApiKey.FETCH, *[Hang()] * 10)
        loop = bench.loop(settings=quick)
        loop.add(claim_on(new_queue(10)), 0)
        began_ms = SystemClock().now_ms()
        bench.run(loop)
        wait_for(lambda: bench.lost_at() == {T0: 0}, "the end of its patience")
        assert SystemClock().now_ms() - began_ms >= 1_500
        assert bench.requested(ApiKey.FETCH) == 2


def test_stopping_closes_both_connections() -> None:
    """It waits for neither response."""
    with FetchBench() as bench:
        bench.brokers[0].script(ApiKey.FETCH, *[Hang()] * 10)
        loop = bench.loop(settings=replace(SETTINGS, request_timeout_ms=60_000))
        loop._line.exchange.pace.hedge_delay_ms = 100
        loop.add(claim_on(new_queue(10)), 0)
        bench.run(loop)
        wait_for(lambda: bench.requested(ApiKey.FETCH) == 2, "the second request")
        began_ms = SystemClock().now_ms()
        assert bench.scope.close(5_000) == []
        assert SystemClock().now_ms() - began_ms < 4_000


def test_a_broker_that_waits_for_messages_is_not_taken_for_silent() -> None:
    """The request allowed it to: silence counts from the end of max_wait_ms."""
    waiting = replace(PATIENT, max_wait_ms=900)
    with FetchBench() as bench:
        loop = bench.loop(settings=waiting)
        loop.add(claim_on(new_queue(10)), 0)
        bench.run(loop)
        wait_for(lambda: bench.requested(ApiKey.FETCH) > 2, "answers without messages")
        assert bench.opened == 1
