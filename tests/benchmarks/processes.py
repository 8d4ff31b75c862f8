"""Runs a program to its end, or exchanges lines with one that keeps running."""

import json
import os
import select
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.benchmarks import machine

REPOSITORY = Path(__file__).parents[2]
_LOOK_EVERY_MS = 50
_SHOWN_CHARACTERS = 300


class ClientFailed(Exception):
    """A program ended with an error, printed nothing, or took too long; the text says which."""


class ClientSkipped(Exception):
    """A program can't do its job on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The result of a program that ended without an error.

    Attributes:
        output: its standard output.
        cpu_seconds: its CPU time from its start to its end.
        peak_kb: its peak memory, in KiB, read every 50 ms.
    """

    output: str
    cpu_seconds: float
    peak_kb: int


def run(
    argv: Sequence[str], *, environ: Mapping[str, str] | None = None, timeout_s: float = 300
) -> Ended:
    """Run a program in the repository's folder.

    Raises:
        ClientFailed: it ended with an error, or did not end in time.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        before = machine.descendants(os.getpid())[os.getpid()].waited_seconds
        with subprocess.Popen(
            argv,
            cwd=REPOSITORY,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        ) as process:
            peak_kb = _watch(process, timeout_s)
        after = machine.descendants(os.getpid())[os.getpid()].waited_seconds
        printed, complained = _text(output), _text(errors)
    if process.returncode:
        last = (complained or printed).strip().splitlines()[-1:]
        raise ClientFailed(" ".join(last)[:_SHOWN_CHARACTERS] or f"status {process.returncode}")
    return Ended(printed, after - before, peak_kb)


def _watch(process: "subprocess.Popen[bytes]", timeout_s: float) -> int:
    """Wait until the process ends; return its peak memory, in KiB."""
    descriptor = os.pidfd_open(process.pid)
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        peak_kb = 0
        for _ in range(int(timeout_s * 1000 / _LOOK_EVERY_MS)):
            if ended.poll(_LOOK_EVERY_MS):
                return peak_kb
            peak_kb = max(peak_kb, machine.peak_kb(process.pid))
    finally:
        os.close(descriptor)
    process.kill()
    raise ClientFailed(f"{process.args!r} still ran after {timeout_s:g} s")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def last_response(output: str) -> dict[str, object]:
    """Return the JSON object in the last line that a client printed.

    Raises:
        ClientSkipped: the client reports that it can't do this.
        ClientFailed: there is no such line.
    """
    lines = output.strip().splitlines()
    try:
        response: dict[str, object] = json.loads(lines[-1])
    except (IndexError, ValueError) as error:
        raise ClientFailed(f"no response, but {output[-_SHOWN_CHARACTERS:]!r}") from error
    if "skipped" in response:
        raise ClientSkipped(str(response["skipped"]))
    return response


class Companion:
    """A program that keeps running and responds with lines of JSON."""

    def __init__(self, argv: Sequence[str], *, environ: Mapping[str, str] | None = None) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open for as long as the program
        self._process = subprocess.Popen(
            argv,
            cwd=REPOSITORY,
            env={**os.environ, **(environ or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._lines = b""

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def peak_kb(self) -> int:
        """The peak memory of the process so far, in KiB."""
        return machine.peak_kb(self._process.pid)

    def request(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def receive(self, timeout_s: float = 120) -> dict[str, object]:
        """Return the next line that it prints.

        Raises:
            ClientSkipped: see ``last_response``.
            ClientFailed: it ended, or printed nothing in time.
        """
        assert self._process.stdout is not None
        answered = select.poll()
        answered.register(self._process.stdout, select.POLLIN)
        while b"\n" not in self._lines:
            if not answered.poll(timeout_s * 1000):
                raise ClientFailed(f"printed nothing for {timeout_s:g} s: {self._complaint()}")
            more = os.read(self._process.stdout.fileno(), 1 << 20)
            if not more:
                raise ClientFailed(f"ended: {self._complaint()}")
            self._lines += more
        line, _, self._lines = self._lines.partition(b"\n")
        return last_response(line.decode())

    def close(self) -> None:
        """Kill the process, and wait until it has ended."""
        self._process.kill()
        self._process.communicate()
        self._errors.close()

    def _complaint(self) -> str:
        return _text(self._errors)[-_SHOWN_CHARACTERS:].strip()
