"""What an oracle is compiled against is part of its name."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.golden import jvm


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Replace the compiler; notes the class path of each time."""
    paths: list[str] = []

    def compile_it(command: Sequence[Any], **_: Any) -> None:
        paths.append(command[command.index("-cp") + 1])
        (Path(command[command.index("-d") + 1]) / "Oracle.class").touch()

    monkeypatch.setattr(jvm, "_CLASSES", tmp_path / "oracles")
    monkeypatch.setattr(subprocess, "run", compile_it)
    return paths


def test_each_class_path_has_classes_of_its_own(compiled: list[str], tmp_path: Path) -> None:
    """A compiler copies constants of the release: against another one they would be wrong."""
    source = tmp_path / "Oracle.java"
    source.touch()
    old, new = Path("/kafka_0.8.jar"), Path("/kafka_3.9.jar")
    folders = [jvm._compiled(source, Path("java"), [jar]) for jar in (old, new, old)]
    assert folders[0] == folders[2] != folders[1]
    assert compiled == [str(old), str(new)]
    assert all((folder / "Oracle.class").exists() for folder in folders)
    assert sorted((tmp_path / "oracles").iterdir()) == sorted(folders[:2])


def test_who_is_beaten_leaves_nothing_behind(
    compiled: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has the same classes there first."""
    source = tmp_path / "Oracle.java"
    source.touch()
    folder = jvm._compiled(source, Path("java"), [])
    monkeypatch.setattr(Path, "exists", lambda _: False)
    assert jvm._compiled(source, Path("java"), []) == folder
    assert len(compiled) == 2
    assert list((tmp_path / "oracles").iterdir()) == [folder]
