"""``zkconsumer serve`` as a separate process, and an HTTP client for it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.support import warm
from tests.support.waiting import wait_until


class Answer(NamedTuple):
    """A response; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body decoded as JSON."""
        return json.loads(self.body)


class ServedPage:
    """A running page server, see ``served``.

    Attributes:
        address: the page's address, without a trailing slash.
        process: the server's process; None if it runs in a thread of the test.
    """

    def __init__(self, address: str, process: "subprocess.Popen[str] | None") -> None:
        self.address = address
        self.process = process

    def get(self, path: str, **headers: str) -> Answer:
        """Send a GET request; ``_`` in header names stands for ``-``."""
        return self.request("GET", path, None, **headers)

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """Send a request of any method, on a new connection."""
        connection = HTTPConnection(urlsplit(self.address).netloc, timeout=10)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            got = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, got, response.read())
        finally:
            connection.close()

    def end(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; return its exit status."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(15)


@contextmanager
def served(
    zookeeper: str | None, log: Path, *arguments: str, **environment: str
) -> Iterator[ServedPage]:
    """Serve the page of a cluster on a free port during the context.

    Args:
        zookeeper: the cluster's ZooKeeper; None: the arguments have the cluster.
        log: a file for standard error.
        arguments: further arguments; unless these set it, no history is kept.
        environment: further environment variables.
    """
    kept = {"--history", "--no-history"} & set(arguments)
    command = [sys.executable, "-m", "zkconsumer", "serve"]
    command += [] if zookeeper is None else ["--zookeeper", zookeeper]
    command += ["--listen", "127.0.0.1:0", *([] if kept else ["--no-history"]), *arguments]
    with (
        log.open("ab") as errors,
        warm.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **environment},
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert " at http://" in line, f"{line}{log.read_text()}"
            yield ServedPage(line.split()[-1].rstrip("/"), process)
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def until_read(page: ServedPage) -> None:
    """Wait until the server has read the cluster for the first time."""
    wait_until(lambda: page.get("/healthz").status == 200, what="the first reading")
