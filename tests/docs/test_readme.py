"""The README's first thirty seconds, run as they are pasted (but for the port)."""

import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def blocks(language: str) -> list[str]:
    """The README's code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def command(start: str) -> list[str]:
    """The README's console line that starts so, as arguments behind ``zkconsumer``."""
    for line in "".join(blocks("console")).splitlines():
        if line.startswith(f"$ {start}"):
            return shlex.split(line.removeprefix("$ zkconsumer "))
    raise AssertionError(f"the README has no line {start!r}")


@contextmanager
def sandbox_up(port: int) -> Iterator[None]:
    """The README's cluster, on another port, until the end of the block."""
    arguments = [text.replace("2181", str(port)) for text in command("zkconsumer sandbox up")]
    with subprocess.Popen(
        [sys.executable, "-m", "zkconsumer", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                if " is up." in line:
                    break
            else:
                raise AssertionError(f"sandbox up ended with {process.wait()}")
            yield
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()


@pytest.mark.sandbox
def test_the_example_prints_the_sample_messages_and_commits() -> None:
    """The ten lines print all 1,000 sample messages; run again, they find nothing left to read."""
    port = free_port()
    [example] = blocks("python")
    program = example.replace("2181", str(port)).replace("=5000", "=3000")
    with sandbox_up(port):
        first = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        again = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        consume = [line.replace("2181", str(port)) for line in command("zkconsumer consume")]
        console = subprocess.run(
            [sys.executable, "-m", "zkconsumer", *consume, "--max-messages", "1000"],
            capture_output=True,
            text=True,
            check=True,
        )
    assert len(first.stdout.splitlines()) == 1000
    assert again.stdout == ""
    assert len(console.stdout.splitlines()) == 1000


def test_the_example_is_well_typed(tmp_path: Path) -> None:
    """A value may be null, so an example that decodes it by hand would be refused, and rightly."""
    pytest.importorskip("mypy")
    program = tmp_path / "example.py"
    program.write_text("\n".join(blocks("python")), "utf-8")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", program],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_every_linked_page_is_there() -> None:
    """Each relative link of the README leads to a file or folder."""
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
