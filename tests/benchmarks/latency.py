"""Measures the latency from produce to delivery at a low rate, by messages with a time stamp."""

import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

from tests.benchmarks.clients.job import Job
from tests.benchmarks.clients.stamps import LAST, stamped
from tests.benchmarks.contestants.contestant import Cluster
from tests.benchmarks.payloads import values
from tests.benchmarks.plan import CORE_BYTES, LatencyPlan
from tests.benchmarks.processes import ClientFailed, ClientSkipped, Companion
from tests.benchmarks.session import Session, fresh_group, write
from tests.benchmarks.topics import TIMEOUT_MS, TopicSpec, produce
from tests.support.raw_connections import raw_connection
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec

MODE = "latency"
_SETTLING_SHARE = 0.1  # of each run's messages are left out: the first ones find caches cold


class Listener(Protocol):
    """A contestant that can report the delays of messages."""

    @property
    def name(self) -> str:
        """See ``Contestant``."""
        ...

    @property
    def lives_on(self) -> bool:
        """Whether its process runs the next job, too."""
        ...

    def job(self, spec: TopicSpec, cluster: Cluster, group: str) -> Job | None:
        """See ``Contestant``."""
        ...

    def start(self, job: Job) -> Companion:
        """Start a process that reads from the topic's end on."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyRun:
    """The delays of the messages of one run, in microseconds."""

    partitions: int
    contestant: str
    round: int
    messages: int
    p50_us: float
    p99_us: float
    max_us: float


@dataclass(slots=True)
class LatencySession:
    """Measures the latency of listeners in alternating runs; adds them to ``runs``."""

    session: Session
    runs: list[LatencyRun]

    def measure(self, plan: LatencyPlan, listeners: Sequence[Listener], rounds: int) -> None:
        """Run one more round than is recorded: the first one warms up."""
        spec = TopicSpec(
            value_bytes=CORE_BYTES, codec=Codec.NONE, partitions=plan.partitions, records=0
        )
        topic = f"{MODE}-p{plan.partitions}"
        self.session.sandbox.create_topic(topic, plan.partitions)
        able = list(listeners)
        for number in range(-1, rounds):
            for listener in list(able):
                job = listener.job(spec, self.session.cluster, fresh_group())
                assert job is not None
                job = replace(job, topic=topic, mode=MODE)
                try:
                    delays = self._listen(plan, listener, job)
                except (ClientSkipped, ClientFailed) as error:
                    able.remove(listener)
                    self.session.leave_out(topic, listener.name, error)
                    continue
                if number >= 0:
                    self.runs.append(_run(plan, listener.name, number, delays))

    def _listen(self, plan: LatencyPlan, listener: Listener, job: Job) -> list[float]:
        companion = listener.start(job)
        try:
            companion.receive()
            self._produce(plan, job)
            delays = companion.receive()["delays_us"]
        finally:
            if not listener.lives_on:
                companion.close()
        assert isinstance(delays, list)
        return delays[int(plan.messages * _SETTLING_SHARE) :]

    def _produce(self, plan: LatencyPlan, job: Job) -> None:
        """Produce single messages at the planned rate; late ones are sent at once."""
        [broker] = self.session.sandbox.brokers
        source, pause = values(job.value_bytes), threading.Event()
        with closing(raw_connection(broker, client_id=MODE, timeout_ms=TIMEOUT_MS)) as connection:
            began = time.perf_counter()
            for number in range(plan.messages):
                ahead_s = began + number / plan.rate - time.perf_counter()
                if ahead_s > 0:
                    pause.wait(ahead_s)
                mark = LAST if number == plan.messages - 1 else number
                value = stamped(mark, next(source))
                data = build_message_set([Record(0, None, value)])
                produce(connection, job.topic, number % plan.partitions, data)


def _run(plan: LatencyPlan, name: str, number: int, delays_us: list[float]) -> LatencyRun:
    cuts = statistics.quantiles(delays_us, n=100)
    run = LatencyRun(
        partitions=plan.partitions,
        contestant=name,
        round=number,
        messages=len(delays_us),
        p50_us=cuts[49],
        p99_us=cuts[98],
        max_us=max(delays_us),
    )
    write(
        f"latency, {plan.partitions} partitions, round {number + 1}: {name} "
        f"p50 {run.p50_us / 1000:.2f} ms, p99 {run.p99_us / 1000:.2f} ms"
    )
    return run


@dataclass(frozen=True, slots=True)
class Delay:
    """The medians of the percentiles over the rounds, in microseconds."""

    p50_us: float
    p99_us: float


def medians_of(runs: Sequence[LatencyRun]) -> dict[tuple[int, str], Delay]:
    """Return the delays by number of partitions and contestant, in the order of the first runs."""
    groups: dict[tuple[int, str], list[LatencyRun]] = {}
    for run in runs:
        groups.setdefault((run.partitions, run.contestant), []).append(run)
    return {
        key: Delay(
            statistics.median(run.p50_us for run in found),
            statistics.median(run.p99_us for run in found),
        )
        for key, found in groups.items()
    }
