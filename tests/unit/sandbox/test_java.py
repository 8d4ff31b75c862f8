"""Which Java the sandbox runs its servers with."""

from pathlib import Path

import pytest

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.java import bundled_java, find_java, major_version


def program(folder: Path) -> Path:
    """Create an executable file called ``java`` in the folder."""
    folder.mkdir(parents=True)
    java = folder / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    return java


def test_java_home_comes_first(tmp_path: Path) -> None:
    """``JAVA_HOME`` wins over ``PATH``."""
    of_home = program(tmp_path / "home" / "bin")
    on_path = program(tmp_path / "path")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert found == of_home


def test_path_is_next(tmp_path: Path) -> None:
    """A ``JAVA_HOME`` without a Java does not hide the one on ``PATH``."""
    on_path = program(tmp_path / "path")
    assert find_java({"JAVA_HOME": str(tmp_path), "PATH": str(on_path.parent)}) == on_path


def test_the_wheel_is_last(tmp_path: Path) -> None:
    """Where no Java is installed, the one of the wheel is used."""
    of_wheel = program(tmp_path / "wheel")
    assert find_java({"PATH": ""}, bundled=lambda: of_wheel) == of_wheel


def test_the_sandbox_extra_brings_a_java() -> None:
    """The ``sandbox`` extra brings a Java."""
    java = bundled_java()
    assert java is not None
    assert java.is_file()


@pytest.mark.parametrize("home", ["", "/nowhere"])
def test_no_java_is_one_clear_line(home: str, tmp_path: Path) -> None:
    """Without any Java, one line says where it was looked for and what to install."""
    with pytest.raises(SandboxError, match=r"^no Java found: .*JAVA_HOME.*zkconsumer\[sandbox\]'$"):
        find_java({"JAVA_HOME": home, "PATH": str(tmp_path)}, bundled=lambda: None)


@pytest.mark.parametrize(
    ("text", "major"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "25.0.2" 2026-01-20 LTS', 25),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "24" 2025-03-18', 24),
        ("nothing", None),
    ],
)
def test_the_major_version_is_read_from_what_java_prints(text: str, major: int | None) -> None:
    """The major version is read from what ``java -version`` prints; up to Java 8 it is "1.8"."""
    assert major_version(text) == major
