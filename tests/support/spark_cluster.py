"""A real standalone cluster of Spark: a master and workers from PySpark's distribution."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from tests.support.waiting import wait_until
from zkconsumer.sandbox.ports import LOOPBACK
from zkconsumer.sandbox.processes import ChildFiles, ChildProcess, SupervisedProcesses

_BIN = Path(pyspark.__file__).parent / "bin"
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_DAEMON = {"SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC"}
_STARTED = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = re.compile(r"Registering worker ")
_START_S = 60
_SUBMIT_MS = 150_000
_SHOWN_LINES = 30


class SubmitFailed(AssertionError):
    """An application failed; the message has the end of its log."""


@dataclass(slots=True)
class StandaloneCluster:
    """A master and workers on loopback, which end with this process at the latest.

    Attributes:
        folder: the folder for logs and the workers' files.
        workers: the number of workers, each with one core.
    """

    folder: Path
    workers: int = 2
    _processes: SupervisedProcesses | None = None
    _url: str = ""

    def __enter__(self) -> Self:
        self._processes = SupervisedProcesses()
        try:
            # Ports are chosen by the system: if a given port was taken, the master would use
            # another one, and its page responds before it is complete.
            self._start("master", _MASTER, "--port", "0", "--webui-port", "0")
            self._url = wait_until(
                lambda: next(iter(self._logged(_STARTED)), ""),
                timeout_s=_START_S,
                what="Spark's master",
            )
            for number in range(self.workers):
                self._start(
                    f"worker-{number}",
                    _WORKER,
                    *("--webui-port", "0", "--cores", "1", "--memory", "1g"),
                    *("--work-dir", str(self.folder / f"worker-{number}")),
                    self.url,
                )
            wait_until(
                lambda: len(self._logged(_REGISTERED)) == self.workers,
                timeout_s=_START_S,
                what="Spark's workers",
            )
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill master and workers; executors end with their worker."""
        if self._processes is not None:
            self._processes.close()

    @property
    def url(self) -> str:
        """The master's URL, for ``--master``."""
        return self._url

    def submit(
        self, arguments: Sequence[str], *, cwd: Path, environ: Mapping[str, str], name: str
    ) -> None:
        """Run ``spark-submit`` against this cluster to its end.

        Args:
            arguments: options, the program, and the program's arguments.
            cwd: the working directory.
            environ: variables besides our own, for the driver only.
            name: the log's name.

        Raises:
            SubmitFailed: the application failed, or did not end.
        """
        argv = [str(_BIN / "spark-submit"), "--master", self.url, *arguments]
        child = self._spawn(argv, name=name, cwd=cwd, environ=environ)
        status = child.wait(_SUBMIT_MS)
        if status != 0:
            child.kill()
            lines = (self.folder / f"{name}.log").read_text("utf-8", "replace").splitlines()
            # Java's stack traces are long; the message is in the lines before them.
            reported = [line for line in lines if not line.startswith("\tat ")][-_SHOWN_LINES:]
            raise SubmitFailed(f"{name} ended with {status}:\n" + "\n".join(reported))

    def _start(self, name: str, main_class: str, *arguments: str) -> None:
        argv = [str(_BIN / "spark-class"), main_class, "--host", LOOPBACK, *arguments]
        self._spawn(argv, name=name, cwd=self.folder, environ=_DAEMON)

    def _spawn(
        self, argv: Sequence[str], *, name: str, cwd: Path, environ: Mapping[str, str]
    ) -> ChildProcess:
        assert self._processes is not None
        log = self.folder / f"{name}.log"
        ours = {"SPARK_LOCAL_IP": LOOPBACK, "SPARK_HOME": str(_BIN.parent), **environ}
        # The tests' own environment must not help an application to find the package.
        forgotten = [
            f"--unset={key}"
            for key in ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
            if key in os.environ and key not in ours
        ]
        settings = [f"{key}={value}" for key, value in ours.items()]
        return self._processes.spawn(
            ["/usr/bin/env", *forgotten, *settings, *argv],
            cwd=cwd,
            files=ChildFiles(stdout=log, stderr=log),
        )

    def _logged(self, line: re.Pattern[str]) -> list[str]:
        return line.findall((self.folder / "master.log").read_text("utf-8", "replace"))
