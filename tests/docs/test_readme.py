"""The README's first thirty seconds, run as they are pasted (but for the port)."""

import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
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


@pytest.mark.sandbox
def test_the_first_drain_lands_and_proves_the_sample_messages(tmp_path: Path) -> None:
    """As it is pasted, in the folder where one stands; no Java is to be found there."""
    port = free_port()
    [block] = [block for block in blocks("console") if "$ zkconsumer drain " in block]
    drain, verify = (command(f"zkconsumer drain {word}") for word in ("--zoo", "verify"))
    with sandbox_up(port):
        drained, proven = (
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "zkconsumer",
                    *(x.replace("2181", str(port)) for x in command),
                ],
                capture_output=True,
                text=True,
                check=False,
                cwd=tmp_path,
                env={"PATH": str(tmp_path), "PYTHONPATH": str(ROOT)},
            )
            for command in (drain, verify)
        )
    assert (drained.returncode, proven.returncode) == (0, 0), drained.stderr + proven.stderr
    assert "Landed 1000 messages in " in drained.stderr
    assert "PROVEN: every offset that the log had is there exactly once" in proven.stdout
    assert list(tmp_path.glob("lake/weblog/topic=weblog/date=*/*.parquet"))
    assert "$ pip install '.[local]'" in block


def test_what_is_installed_is_an_extra() -> None:
    """Each that the README's lines ask for is one of the package's."""
    package = ConfigParser()
    package.read(ROOT / "setup.cfg", "utf-8")
    asked = re.findall(r"^\$ pip install '\.\[(.*)\]'$", README, re.MULTILINE)
    wanted = {extra for line in asked for extra in line.split(",")}
    assert wanted == {"sandbox", "web", "local"}
    assert wanted <= package["options.extras_require"].keys()


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
