"""Completion in bash, in processes of their own (the unit tests of the same name hold the rest)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
zkconsumer() { "$PYTHON" -m zkconsumer "$@"; }
eval "$(zkconsumer completion bash)"
COMP_LINE="$1" COMP_POINT=${#1} COMP_TYPE=9
COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete zkconsumer
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(line: str, folder: Path) -> set[str]:
    """Return what bash offers at the end of the line."""
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
    """Commands, flags, subcommands and choices are completed."""
    assert completed(line, tmp_path) == offered
