"""How the core was compiled, since it reads bytes from strangers."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

from tests.support.engines import needs_native

pytestmark = needs_native

SCRIPT = Path(__file__).parents[3] / "scripts" / "hardening.py"
SOFT = ["-fno-stack-protector", "-U_FORTIFY_SOURCE", "-Wl,-z,norelro", "-Wl,-z,lazy"]


def missing(*words: str) -> list[str]:
    """Return what a shared object lacks, as the script that checks wheels prints it."""
    command = [sys.executable, str(SCRIPT), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [line.partition(": ")[2] for line in done.stderr.splitlines()]
    assert done.returncode == (1 if found else 0), done.stderr
    return found


def test_the_core_is_hardened() -> None:
    """Every build by setup.py is, by hand or in a wheel."""
    assert missing(str(import_module("zkconsumer.native._core").__file__)) == []


def test_each_missing_measure_is_found(tmp_path: Path) -> None:
    """A library that was compiled without any of them lacks them all."""
    source, made = tmp_path / "soft.c", str(tmp_path / "soft.so")
    source.write_text("int soft(int number) { return number + 1; }\n")
    command = ["gcc", "-g", "-shared", "-fPIC", *SOFT, "-Wl,-z,execstack", str(source), "-o", made]
    subprocess.run(command, check=True)
    expected = [
        "no RELRO",
        "RELRO is not full: symbols are bound late",
        "its stack may be executed",
        "no stack protector",
        "no fortified calls",
    ]
    assert missing(made) == expected
    *others, left = missing("--stripped", made)
    assert others == expected
    assert left.startswith("not stripped: ")
    assert ".debug_info" in left
    assert ".symtab" in left
