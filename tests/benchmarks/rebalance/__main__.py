"""``python -m tests.benchmarks.rebalance``: how long rebalances stop our groups, or the original's.

Both kinds of members, each in its own process, take turns on the same real ZooKeeper and broker:

- first: from when a first member starts to join until it owns and fetches all partitions;
- second: from when a second member starts to join until all partitions have the right owners;
- crowd: the same with the sixteenth; and, after one was killed, from when ZooKeeper ends its
  session until the remaining fifteen own all partitions.

With ``--delay-ms`` every response of ZooKeeper comes that much later, for both kinds.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from tests.benchmarks.rebalance.members import (
    REPOSITORY,
    Member,
    OurMember,
    ScalaMember,
    StartMember,
)
from tests.benchmarks.rebalance.observer import Observer
from zkconsumer.sandbox import Sandbox

KAFKA = "0.8.2.2"
CROWD = 16
SETTINGS = {
    "zookeeper.session.timeout.ms": "10000",
    "zookeeper.connection.timeout.ms": "30000",
    "rebalance.max.retries": "100",  # at its default of 4 the original's crowd gives up
    "auto.offset.reset": "smallest",
}
BROKER = {"log.index.size.max.bytes": "65536"}  # thousands of logs must be created quickly


def run_first(start: StartMember, observer: Observer, group: str) -> dict[str, float]:
    """Measure how long a single member takes to join, in ms."""
    with _members() as members:
        member = start(group, "a")
        members.append(member)
        began_ms = member.joining_ms()
        ended_ms = member.joined_ms()
        observer.await_owned(group, ["a"])
    return {"first": ended_ms - began_ms}


def run_second(start: StartMember, observer: Observer, group: str) -> dict[str, float]:
    """Measure how long the group takes when a second member joins, in ms."""
    with _members() as members:
        members.append(start(group, "a"))
        members[0].joined_ms()
        observer.await_owned(group, ["a"])
        members.append(start(group, "b"))
        ended_ms = observer.await_owned(group, ["a", "b"])
        began_ms = members[1].joining_ms()
    return {"second": ended_ms - began_ms}


def run_crowd(start: StartMember, observer: Observer, group: str) -> dict[str, float]:
    """Measure how long the group takes when a sixteenth member joins, and one crashes, in ms."""
    names = [f"m{number:02}" for number in range(CROWD)]
    with _members() as members:
        members.extend(start(group, name) for name in names[:-1])
        observer.await_owned(group, names[:-1])
        members.append(start(group, names[-1]))
        ended_ms = observer.await_owned(group, names)
        join_ms = ended_ms - members[-1].joining_ms()
        members.pop(7).kill()
        gone_ms = observer.await_gone(group, names.pop(7))
        crash_ms = observer.await_owned(group, names) - gone_ms
    return {"16th joins": join_ms, "one of 16 crashes": crash_ms}


SCENARIOS: dict[str, Callable[[StartMember, Observer, str], dict[str, float]]] = {
    "first": run_first,
    "second": run_second,
    "crowd": run_crowd,
}


@contextmanager
def _members() -> Iterator[list[Member]]:
    """Collect members; kill them at the end, in any case, the last one first."""
    members: list[Member] = []
    try:
        yield members
    finally:
        while members:
            members.pop().kill()


@contextmanager
def delayed(zookeeper_connect: str, delay_ms: float) -> Iterator[str]:
    """Return a connect string of the same ZooKeeper, with delayed responses."""
    address, slash, chroot = zookeeper_connect.partition("/")
    if not delay_ms:
        yield zookeeper_connect
        return
    with subprocess.Popen(
        [sys.executable, "-m", "tests.benchmarks.rebalance.delay_proxy", address, str(delay_ms)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as proxy:
        assert proxy.stdout is not None
        yield f"127.0.0.1:{proxy.stdout.readline().strip()}{slash}{chroot}"
        proxy.kill()


def kinds_of(
    sandbox: Sandbox, zookeeper_connect: str, topic: str, folder: Path
) -> dict[str, StartMember]:
    """Return for each kind of member the function that starts one."""

    def settings(group: str, name: str) -> dict[str, str]:
        return {
            **SETTINGS,
            "zookeeper.connect": zookeeper_connect,
            "group.id": group,
            "consumer.id": name,
        }

    def ours(group: str, name: str) -> Member:
        return OurMember(topic, settings(group, name))

    def scala(group: str, name: str) -> Member:
        config = folder / f"{group}-{name}.properties"
        return ScalaMember(sandbox, topic, settings(group, name), config)

    return {"ours": ours, "scala": scala}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The combinations to measure."""

    partitions: Sequence[int]
    scenarios: Sequence[str]
    kinds: Sequence[str]
    runs: int
    delays_ms: Sequence[float]


Figures = dict[tuple[float, str, int, str], list[float]]
"""Milliseconds by delay (ms), measurement, number of partitions, and kind of member."""


def measure(options: Options) -> Figures:
    """Measure all combinations, the kinds of members in turns."""
    figures: Figures = {}
    with ExitStack() as stack:
        sandbox = stack.enter_context(
            Sandbox(
                kafka=KAFKA,
                brokers=1,
                broker_properties=BROKER,
                heap_mb=512,
                start_timeout_ms=300_000,
            )
        )
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for count in options.partitions:
            observer = Observer(sandbox.zookeeper_connect, f"partitions-{count}", count)
            stack.callback(observer.close)
            observer.create_topic(sandbox.brokers[0].id)
            for delay_ms in options.delays_ms:
                with delayed(sandbox.zookeeper_connect, delay_ms) as connect:
                    kinds = kinds_of(sandbox, connect, observer.topic, folder)
                    measure_one(options, figures, observer, kinds, delay_ms)
    return figures


def measure_one(
    options: Options,
    figures: Figures,
    observer: Observer,
    kinds: dict[str, StartMember],
    delay_ms: float,
) -> None:
    """Measure with one topic and one delay; add the results to ``figures``."""
    for scenario in options.scenarios:
        if scenario == "crowd" and observer.count != max(options.partitions):
            continue
        for run, kind in product(range(options.runs), options.kinds):
            group = f"{scenario}-{kind}-{uuid.uuid4().hex[:8]}"
            found = SCENARIOS[scenario](kinds[kind], observer, group)
            for what, took_ms in found.items():
                figures.setdefault((delay_ms, what, observer.count, kind), []).append(took_ms)
                _write(
                    f"run {run + 1}: {what}, {observer.count} partitions, {delay_ms:g} ms of delay,"
                    f" {kind}: {took_ms:.0f} ms"
                )


def table(figures: Figures) -> str:
    """Return medians, and how many times faster ours are, as Markdown."""
    lines = [
        "| delay, ms | what | partitions | original, ms | ours, ms | times faster |",
        "|---:|---|---:|---:|---:|---:|",
    ]
    for row in dict.fromkeys(key[:3] for key in figures):
        delay_ms, what, count = row
        medians = {
            kind: statistics.median(figures[*row, kind])
            for kind in ("scala", "ours")
            if (*row, kind) in figures
        }
        ratio = medians["scala"] / medians["ours"] if len(medians) == 2 else float("nan")
        cells = [f"{medians[k]:.0f}" if k in medians else "" for k in ("scala", "ours")]
        lines.append(f"| {delay_ms:g} | {what} | {count} | {cells[0]} | {cells[1]} | {ratio:.1f} |")
    return "\n".join(lines)


def main(argv: Sequence[str]) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.rebalance", description=__doc__
    )
    parser.add_argument("--partitions", default="100,500,2000")
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--kinds", default="scala,ours")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--delay-ms", default="0", help="one or several: 0,2")
    parser.add_argument("--json", type=Path, help="where to write every single figure")
    given = parser.parse_args(argv)
    options = Options(
        partitions=[int(partition) for partition in given.partitions.split(",")],
        scenarios=given.scenarios.split(","),
        kinds=given.kinds.split(","),
        runs=given.runs,
        delays_ms=[float(delay) for delay in given.delay_ms.split(",")],
    )
    figures = measure(options)
    if given.json is not None:
        rows = [
            {"delay_ms": delay_ms, "what": what, "partitions": count, "kind": kind, "ms": took}
            for (delay_ms, what, count, kind), took in figures.items()
        ]
        given.json.write_text(json.dumps({"kafka": KAFKA, "runs": rows}, indent=1) + "\n")
    sys.stdout.write(table(figures) + "\n")


def _write(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
