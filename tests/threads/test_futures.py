"""Callbacks of futures: each is called once, whoever adds it when."""

import threading
from concurrent.futures import ThreadPoolExecutor

from zkconsumer.futures import CallbackFuture


def test_two_threads_add_their_first_callbacks_at_once(frequent_switches: None) -> None:
    """Neither is lost."""
    del frequent_switches
    futures = [CallbackFuture[int]() for _ in range(20_000)]
    heard: list[int] = []
    start = threading.Barrier(2)

    def add() -> None:
        start.wait()
        for future in futures:
            future.add_callback(heard.append)

    with ThreadPoolExecutor(2) as pool:
        for added in [pool.submit(add) for _ in range(2)]:
            added.result()
    for future in futures:
        future.notify(1, None)
    assert len(heard) == 2 * len(futures)


def test_each_outcome_has_its_calls() -> None:
    """In their order, those added afterwards at once; one that raises hinders no other."""
    heard: list[str] = []
    future = CallbackFuture[int]()
    future.add_errback(lambda _: heard.append("never"))
    future.add_callback(lambda _: 1 / 0)
    future.add_both(lambda _: heard.append("first"))
    future.notify(1, None)
    future.add_callback(lambda name, value: heard.append(f"{name} {value}"), "then")
    future.add_errback(lambda _: heard.append("never"))
    assert heard == ["first", "then 1"]
    failed = CallbackFuture[int]().add_errback(lambda error: heard.append(str(error)))
    failed.notify(None, ValueError("why"))
    assert heard[2:] == ["why"]
