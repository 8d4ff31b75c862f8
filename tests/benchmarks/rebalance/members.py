"""Runs members of a group in their own processes: ours, and the original's console consumer."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Protocol

from zkconsumer.sandbox import Sandbox, ScalaTool
from zkconsumer.sandbox.waiting import await_result

REPOSITORY = Path(__file__).parents[3]
JOIN_TIMEOUT_MS = 600_000
_LOGGED = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) ")
_EARLY_WARNING = "ConsumerRebalanceFailedException"


class Member(Protocol):
    """A member in its own process. Times are the wall clock's, in milliseconds."""

    def joining_ms(self) -> float:
        """Wait until it starts to join; return when that was."""
        ...

    def joined_ms(self) -> float:
        """Wait until it first owns and fetches its partitions; return when that was."""
        ...

    def leave(self) -> None:
        """End the process in an orderly way, so that the member leaves the group."""
        ...

    def kill(self) -> None:
        """Kill the process, so that its session must time out."""
        ...


class OurMember:
    """A member of our own consumer."""

    def __init__(self, topic: str, settings: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.benchmarks.rebalance.member", topic),
                *(f"{key}={value}" for key, value in settings.items()),
            ],
            cwd=REPOSITORY,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._moments: dict[str, float] = {}

    def joining_ms(self) -> float:
        """See ``Member``."""
        return self._moment_of("joining")

    def joined_ms(self) -> float:
        """See ``Member``."""
        return self._moment_of("joined")

    def leave(self) -> None:
        """See ``Member``."""
        self._process.communicate()

    def kill(self) -> None:
        """See ``Member``."""
        self._process.kill()
        self._process.communicate()

    def _moment_of(self, what: str) -> float:
        assert self._process.stdout is not None
        while what not in self._moments:
            what_happened, moment = self._process.stdout.readline().split()
            self._moments[what_happened] = float(moment)
        return self._moments[what]


class ScalaMember:
    """A member that is the original's console consumer."""

    def __init__(
        self, sandbox: Sandbox, topic: str, settings: Mapping[str, str], config: Path
    ) -> None:
        config.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        self._tool: ScalaTool = sandbox.scala_tool(
            "kafka.tools.ConsoleConsumer",
            *("--zookeeper", settings["zookeeper.connect"]),
            *("--topic", topic, "--consumer.config", str(config)),
        )

    def joining_ms(self) -> float:
        """See ``Member``."""
        return self._logged("begin registering consumer")

    def joined_ms(self) -> float:
        """See ``Member``."""
        return self._logged("end rebalancing consumer")

    def leave(self) -> None:
        """See ``Member``."""
        self._tool.stop()

    def kill(self) -> None:
        """See ``Member``."""
        self._tool.kill()

    def _logged(self, text: str) -> float:
        def found() -> float | None:
            log = self._tool.folder / "log"
            lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
            if self._tool.poll() is not None or any(_EARLY_WARNING in line for line in lines):
                raise RuntimeError(f"the original gave up: see {log}")
            for line in lines:
                stamp = _LOGGED.match(line)
                if stamp and text in line:
                    moment = datetime.strptime(stamp[1], "%Y-%m-%d %H:%M:%S,%f")  # noqa: DTZ007 - log4j writes local time
                    return moment.timestamp() * 1000
            return None

        return await_result(
            found, timeout_ms=JOIN_TIMEOUT_MS, complaint=lambda: f"no {text!r} in its log"
        )


StartMember = Callable[[str, str], Member]
"""Starts a member, given its group and consumer id."""
