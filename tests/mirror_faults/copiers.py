"""The three mirrors: each is a process that continues where the previous one committed."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.support.mirror_maker_2 import MirrorMaker2
from tests.support.mirrors import MirrorProcess, proof_of
from zkconsumer.errors import MirrorError
from zkconsumer.mirror.verify import MirrorProof
from zkconsumer.sandbox import Sandbox, ScalaTool


class Running(Protocol):
    """A process that copies a topic."""

    def stop(self) -> object:
        """End it gracefully."""
        ...

    def kill(self) -> None:
        """End it at once."""
        ...

    def warnings(self) -> list[str]:
        """Return its warnings and errors."""
        ...


Start = Callable[[str], Running]
"""Starts the mirror of a topic."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A mirror that runs in a JVM."""

    process: ScalaTool

    def stop(self) -> object:
        """See ``Running``."""
        return self.process.stop(30_000)

    def kill(self) -> None:
        """See ``Running``."""
        self.process.kill()

    def warnings(self) -> list[str]:
        """See ``Running``."""
        lines = (self.process.folder / "log").read_text("utf-8", "replace").splitlines()
        return [line for line in lines if line.split(" ")[2:3] in (["WARN"], ["ERROR"], ["FATAL"])]


@dataclass(frozen=True, slots=True)
class Ours:
    """``zkconsumer mirror``, which counts gaps, and ``mirror verify``, which counts copies."""

    process: MirrorProcess
    prove: Callable[[], MirrorProof]

    def stop(self) -> object:
        """See ``Running``."""
        self.process.terminate()
        return self.process.wait()

    def kill(self) -> None:
        """See ``Running``."""
        self.process.kill()

    def warnings(self) -> list[str]:
        """See ``Running``."""
        errors = self.process.errors.splitlines()
        lines = self.process.output.splitlines()
        gap = json.loads(lines[-1])["gap"] if lines else 0
        copies = 0
        with suppress(MirrorError):  # nothing is committed yet
            copies = sum(partition.copies for partition in self.prove().partitions)
        counts = {"gap": gap, "copies": copies}
        return [*errors, *(f"{name}: {count}" for name, count in counts.items() if count)]


def starts(
    source: Sandbox, target: Sandbox, second: MirrorMaker2, folder: Path
) -> dict[str, Start]:
    """Return how to start each mirror, by its name."""

    def mirror_maker_2(topic: str) -> Running:
        return Tool(second.start(source, target, topic))

    def mirror_maker_1(topic: str) -> Running:
        files = {
            "consumer": f"bootstrap.servers={source.bootstrap_servers}\ngroup.id={topic}\n"
            "auto.offset.reset=earliest\n",
            "producer": f"bootstrap.servers={target.bootstrap_servers}\n",
        }
        for name, text in files.items():
            (folder / f"{name}.properties").write_text(text)
        tool = source.scala_tool(
            "kafka.tools.MirrorMaker",
            *("--consumer.config", str(folder / "consumer.properties")),
            *("--producer.config", str(folder / "producer.properties")),
            *("--include", topic),
        )
        return Tool(tool)

    def ours(topic: str) -> Running:
        arguments = (
            *("--whitelist", topic, "--target-bootstrap-servers", target.bootstrap_servers),
            *("--create-topics", "--offsets-file", str(folder / f"{topic}.jsonl"), "--json"),
        )
        return Ours(
            MirrorProcess(source, topic, *arguments, folder=folder / topic),
            lambda: proof_of(source, topic, target.bootstrap_servers, folder / f"{topic}.jsonl"),
        )

    return {
        "MirrorMaker 2 of 3.9.1": mirror_maker_2,
        "MirrorMaker 1 of 3.9.1": mirror_maker_1,
        "`zkconsumer mirror`": ours,
    }
