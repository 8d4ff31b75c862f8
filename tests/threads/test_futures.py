"""Callbacks of futures: each is called once, whichever thread adds it, and when."""

import threading
from concurrent.futures import ThreadPoolExecutor

from zkconsumer.futures import CallbackFuture


def test_two_threads_add_their_first_callbacks_at_once(frequent_switches: None) -> None:
    """None of them is lost."""
    del frequent_switches
    futures = [CallbackFuture[int]() for _ in range(20_000)]
    calls: list[int] = []
    start = threading.Barrier(2)

    def add() -> None:
        start.wait()
        for future in futures:
            future.add_callback(calls.append)

    with ThreadPoolExecutor(2) as pool:
        for added in [pool.submit(add) for _ in range(2)]:
            added.result()
    for future in futures:
        future.notify(1, None)
    assert len(calls) == 2 * len(futures)


def test_each_outcome_calls_its_callbacks() -> None:
    """They run in order, later ones at once; one that raises does not stop the others."""
    calls: list[str] = []
    future = CallbackFuture[int]()
    future.add_errback(lambda _: calls.append("never"))
    future.add_callback(lambda _: 1 / 0)
    future.add_both(lambda _: calls.append("first"))
    future.notify(1, None)
    future.add_callback(lambda name, value: calls.append(f"{name} {value}"), "then")
    future.add_errback(lambda _: calls.append("never"))
    assert calls == ["first", "then 1"]
    failed = CallbackFuture[int]().add_errback(lambda error: calls.append(str(error)))
    failed.notify(None, ValueError("why"))
    assert calls[2:] == ["why"]
