"""The operators of docs/examples/airflow, run by the real Airflow against a real broker."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from tests.support.clusters import fresh_name
from tests.support.traffic import write
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
COUNT = 300


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with a database of Airflow's own."""
    variables = {
        "AIRFLOW_HOME": str(tmp_path_factory.mktemp("airflow")),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "docs/examples/airflow"),
        "PYTHONPATH": f"{ROOT / 'docs/examples/airflow'}{os.pathsep}{ROOT}",
    }
    airflow("-m", "airflow", "db", "migrate", home=variables)
    return variables


@pytest.fixture
def topic(cluster: Sandbox) -> str:
    """Two partitions with messages."""
    name = fresh_name("nightly")
    cluster.create_topic(name, partitions=2)
    for number in range(2):
        values = [b"%d" % at for at in range(COUNT // 2)]
        write(cluster, TopicPartition(name, number), values)
    return name


def airflow(*words: str, home: dict[str, str]) -> str:
    """What a program of Airflow's Python prints."""
    done = subprocess.run(
        [os.environ["AIRFLOW_PYTHON"], *words],
        env={**os.environ, **home},
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    return done.stdout


def run_dag(command: str, settings: dict[str, Any], home: dict[str, str]) -> tuple[Any, str]:
    """What came of it, and what was printed before that."""
    program = str(Path(__file__).with_name("run_dag.py"))
    printed = airflow(program, command, json.dumps(settings), home=home)
    logged, _, result = printed.strip().rpartition("\n")
    return json.loads(result), logged


def settings_of(cluster: Sandbox, topic: str, folder: Path) -> dict[str, Any]:
    """Arguments of the operators."""
    runs = folder / "runs"
    runs.mkdir()
    return {
        "topics": [topic],
        "path": str(folder / "lake"),
        "zookeeper": cluster.zookeeper_connect,
        "program": [sys.executable, "-m", "zkconsumer"],
        "run_folder": str(runs),
    }


@pytest.mark.parametrize("deferrable", [True, False])
def test_what_is_drained_is_proven(
    cluster: Sandbox, topic: str, tmp_path: Path, home: dict[str, str], *, deferrable: bool
) -> None:
    """Both tasks succeed, say what they came to, and show how far the drain is."""
    settings = settings_of(cluster, topic, tmp_path)
    tasks, logged = run_dag("whole_dag", {**settings, "deferrable": deferrable}, home)
    assert {name: task["state"] for name, task in tasks.items()} == dict.fromkeys(
        ("drain", "verify"), "success"
    ), logged
    drained, proof = tasks["drain"]["xcom"], tasks["verify"]["xcom"]
    assert (drained["finished"], drained["rows"]) == (True, COUNT)
    assert (proof["verdict"], proof["rows"], proof["partitions"]) == ("proven", COUNT, 2)
    assert (proof["gap"], proof["duplicate"], proof["problems"]) == (0, 0, [])
    assert f"{COUNT} offsets landed, 0 to go" in logged
    assert ("Trigger completed" in logged) == deferrable
    assert os.listdir(settings["run_folder"]) == []


def test_what_is_damaged_is_not_proven(
    cluster: Sandbox, topic: str, tmp_path: Path, home: dict[str, str]
) -> None:
    """The second task fails, and is not tried again; the first one has nothing to do."""
    settings = settings_of(cluster, topic, tmp_path)
    run_dag("whole_dag", settings, home)
    next(Path(settings["path"]).glob("topic=*/date=*/*.parquet")).unlink()
    tasks, logged = run_dag("whole_dag", settings, home)
    assert (tasks["drain"]["state"], tasks["verify"]["state"]) == ("success", "failed")
    assert tasks["drain"]["xcom"]["rows"] == 0
    assert "NOT PROVEN: " in logged


def test_wrong_usage_fails_for_good(cluster: Sandbox, tmp_path: Path, home: dict[str, str]) -> None:
    """In the words of the command."""
    settings = {**settings_of(cluster, "t", tmp_path), "arguments": ["--format", "csv"]}
    tasks, logged = run_dag("whole_dag", settings, home)
    assert tasks["drain"]["state"] == "failed"
    assert tasks["verify"]["state"] == "upstream_failed"
    assert "wrong usage: " in logged


@pytest.mark.parametrize("command", ["killed_task", "killed_trigger", "late_trigger"])
def test_a_task_that_is_ended_ends_its_drain_in_order(
    cluster: Sandbox, topic: str, tmp_path: Path, home: dict[str, str], command: str
) -> None:
    """By Airflow's call, or its time-out; what was landed is whole, and the next run goes on."""
    settings = settings_of(cluster, topic, tmp_path)
    result, _ = run_dag(command, settings, home)
    assert result["folders"] == []
    if command != "killed_task":
        assert result["trigger"] == "zkconsumer_operators.CommandTrigger"
    if command == "late_trigger":
        assert result["came_to"]["rows"] == COUNT
    assert ds.dataset(settings["path"], partitioning="hive").count_rows() == COUNT
    tasks, _ = run_dag("whole_dag", settings, home)
    assert tasks["verify"]["xcom"]["rows"] == COUNT


def test_a_run_whose_machine_is_gone_is_over(tmp_path: Path, home: dict[str, str]) -> None:
    """As in a container that was created again: nobody would ever write its status."""
    result, _ = run_dag("lost_folder", {"run_folder": str(tmp_path)}, home)
    assert result == {"with": [False, False], "without": [False, True], "status": None}


def test_a_command_whose_shell_was_killed_is_not_left_alone(
    tmp_path: Path, home: dict[str, str]
) -> None:
    """It is waited for, and can be ended; it has no status."""
    result, _ = run_dag("killed_shell", {"run_folder": str(tmp_path)}, home)
    assert result == {"over": [False, True], "status": None}


def test_the_example_is_a_dag(home: dict[str, str]) -> None:
    """As Airflow finds it in its folder."""
    listed = airflow("-m", "airflow", "dags", "list", "--local", "-o", "json", home=home)
    (found,) = json.loads(listed[listed.index("[\n") if "[\n" in listed else listed.index("[{") :])
    assert found["dag_id"] == "drain_then_verify"
