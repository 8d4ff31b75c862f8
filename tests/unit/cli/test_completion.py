import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zkconsumer.cli import completion
from zkconsumer.cli.main import main

SCRIPT = """
zkconsumer() { "$PYTHON" -m zkconsumer "$@"; }
eval "$(zkconsumer completion bash)"
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9
COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete zkconsumer
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(line: str, folder: Path) -> set[str]:
    """What bash offers at the end of the line."""
    program = folder / "zkconsumer"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m zkconsumer "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        [
            "bash",
            "--norc",
            "-c",
            SCRIPT.replace('"$PYTHON" -m zkconsumer', str(program)),
            "x",
            line,
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
        timeout=60,
    )
    return {word.strip() for word in done.stdout.splitlines() if word.strip()}


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("zkconsumer cons", {"consume"}),
        ("zkconsumer consume --white", {"--whitelist"}),
        ("zkconsumer offsets migr", {"migrate"}),
        ("zkconsumer completion z", {"zsh"}),
        ("zkconsumer --cluster plant dem", {"demo"}),
    ],
)
def test_bash_completes(line: str, offered: set[str], tmp_path: Path) -> None:
    """Commands, flags, commands of commands, choices."""
    assert completed(line, tmp_path) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_code(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Which calls the command itself."""
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    assert "zkconsumer" in printed
    assert "_ARGCOMPLETE" in printed


def test_without_argcomplete_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line; and a shell that asks gets no answer rather than a trace."""
    monkeypatch.setitem(sys.modules, "argcomplete.shell_integration", None)
    monkeypatch.setitem(sys.modules, "argcomplete", None)
    assert main(["completion", "bash"]) == 1
    assert "pip install 'zkconsumer[cli]'" in capsys.readouterr().err
    monkeypatch.setenv("_ARGCOMPLETE", "1")
    completion.complete_shell()
