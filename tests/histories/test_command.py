"""The command that checks a file; and the checker imports nothing of the code under test."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.histories.__main__ import main
from tests.histories.operations import write_file
from tests.histories.simulated import lived
from tests.interop.members import REPOSITORY

HEALTHY = lived([("send", 1), ("ask", 2), ("give", 2), ("kill", 3), ("send", 4)])


def test_a_healthy_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output ends with the result, and the exit status is 0."""
    file = tmp_path / "history.ndjson"
    write_file(file, HEALTHY)
    assert main([str(file)]) == 0
    assert capsys.readouterr().out.endswith("all promises kept\n")


def test_a_file_with_a_loss(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The output has the anomaly and its place, and the exit status is 1."""
    file = tmp_path / "history.ndjson"
    write_file(file, [event for event in HEALTHY if event["f"] != "poll"])
    assert main([str(file)]) == 1
    shown = capsys.readouterr().out
    assert "WRONG: lost write: " in shown
    assert shown.endswith("promises broken\n")


HEAD = {"process": "p", "type": "ok", "f": "poll", "time": 1}
BAD = {
    "not JSON": "{",
    "not an object": "[]",
    "without time": json.dumps({"process": "p", "type": "ok", "f": "poll"}),
    "none of": json.dumps({**HEAD, "type": "done"}),
    "'fetch' is none of": json.dumps({**HEAD, "f": "fetch"}),
    "without 'messages'": json.dumps(HEAD),
    "nobody began": json.dumps({**HEAD, "f": "send"}),
    "nobody had claimed": json.dumps({**HEAD, "f": "release", "topic": "t", "partition": 0}),
}


@pytest.mark.parametrize("what", list(BAD))
def test_a_file_that_is_not_a_history(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the line and the reason; the exit status is 2."""
    file = tmp_path / "history.ndjson"
    file.write_text(f"{json.dumps({**HEAD, 'f': 'note'})}\n{BAD[what]}\n")
    assert main([str(file)]) == 2
    reported = capsys.readouterr().err
    assert "line 2" in reported
    assert what in reported


def test_a_second_pending_operation_of_a_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is refused: a completion could belong to either invocation."""
    file = tmp_path / "history.ndjson"
    write_file(file, [{**HEAD, "type": "invoke"}] * 2)
    assert main([str(file)]) == 2
    assert "p has an operation under way" in capsys.readouterr().err


def test_a_file_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file is reported in one line, without a traceback."""
    assert main([str(tmp_path / "nothing")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_the_checker_imports_nothing_of_what_it_checks() -> None:
    """Importing the whole package, except its tests, loads no module of the product."""
    folder = Path(__file__).parent
    modules = [path.stem for path in folder.glob("*.py") if not path.stem.startswith("test_")]
    assert "checker" in modules
    names = [f"tests.histories.{module}" for module in modules]
    program = (
        "import importlib, sys\n"
        f"for name in {names}: importlib.import_module(name)\n"
        "banned = {'zkconsumer', 'pyspark_zkconsumer'}\n"
        "sys.exit(sorted(one for one in sys.modules if one.partition('.')[0] in banned) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
