"""Oracles in Java: their compiled classes are kept separately for each class path."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.golden import jvm


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Replace the compiler, and record the class path of each compilation."""
    paths: list[str] = []

    def compile_classes(command: Sequence[Any], **_: Any) -> None:
        paths.append(command[command.index("-cp") + 1])
        (Path(command[command.index("-d") + 1]) / "Oracle.class").touch()

    monkeypatch.setattr(jvm, "_CLASSES", tmp_path / "oracles")
    monkeypatch.setattr(subprocess, "run", compile_classes)
    return paths


def test_each_class_path_has_its_own_compiled_classes(compiled: list[str], tmp_path: Path) -> None:
    """Each class path has its own compiled classes, since a compiler inlines constants of it."""
    source = tmp_path / "Oracle.java"
    source.touch()
    old, new = Path("/kafka_0.8.jar"), Path("/kafka_3.9.jar")
    folders = [jvm._compiled(source, Path("java"), [jar]) for jar in (old, new, old)]
    assert folders[0] == folders[2] != folders[1]
    assert compiled == [str(old), str(new)]
    assert all((folder / "Oracle.class").exists() for folder in folders)
    assert sorted((tmp_path / "oracles").iterdir()) == sorted(folders[:2])


def test_the_loser_of_a_compilation_race_leaves_nothing_behind(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When another process compiles the same classes first, ours are discarded."""
    source = tmp_path / "Oracle.java"
    source.touch()
    folder = jvm._compiled(source, Path("java"), [])
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert jvm._compiled(source, Path("java"), []) == folder
    assert len(compiled) == 2
    assert list((tmp_path / "oracles").iterdir()) == [folder]
