"""Runs the example's DAG, or a part of it, in Airflow's own Python: ``run_dag COMMAND SETTINGS``.

It prints a line of JSON at the end. Settings are keyword arguments of operators, as JSON.
"""

import asyncio
import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.support.waiting import wait_until


def whole_dag(settings: dict[str, Any]) -> dict[str, Any]:
    """Run each task as Airflow does, triggers included; gives its state and XCom."""
    from airflow.sdk import DAG  # noqa: PLC0415 - of another environment
    from zkconsumer_operators import (  # noqa: PLC0415
        ZkconsumerDrainOperator,
        ZkconsumerVerifyOperator,
    )

    topics = settings.pop("topics")
    with DAG("drain_then_verify") as dag:
        drain = ZkconsumerDrainOperator(task_id="drain", topics=topics, **settings)
        drain >> ZkconsumerVerifyOperator(task_id="verify", **settings)
    run = dag.test()
    return {
        instance.task_id: {
            "state": str(instance.state),
            "xcom": instance.xcom_pull(task_ids=instance.task_id),
        }
        for instance in run.get_task_instances()
    }


def killed_task(settings: dict[str, Any]) -> dict[str, Any]:
    """End a drain that would go on, as Airflow ends a task that runs on a worker."""
    operator = _endless(settings)
    raised: list[str] = []

    def execute() -> None:
        try:
            operator.execute({})
        except Exception as error:  # noqa: BLE001 - reported
            raised.append(f"{type(error).__name__}: {error}")

    with ThreadPoolExecutor() as pool:
        task = pool.submit(execute)
        _wait_for_batches(settings["path"])
        operator.on_kill()
        task.result(60)
    return {"raised": raised, "folders": os.listdir(settings["run_folder"])}


def killed_trigger(settings: dict[str, Any]) -> dict[str, Any]:
    """End a drain that would go on, as a triggerer does; another triggerer took it over before."""
    name, _, trigger = _deferred(_endless({**settings, "deferrable": True}))
    _wait_for_batches(settings["path"])
    asyncio.run(_killed(trigger))
    return {"trigger": name, "folders": os.listdir(settings["run_folder"])}


def late_trigger(settings: dict[str, Any]) -> dict[str, Any]:
    """Let a drain that would go on run into its time-out."""
    operator = _endless({**settings, "deferrable": True, "execution_timeout": timedelta(0)})
    name, place, trigger = _deferred(operator)
    _wait_for_batches(settings["path"])
    event = asyncio.run(anext(trigger.run())).payload
    assert event == place
    came_to = operator.resumed({}, event)
    return {"trigger": name, "came_to": came_to, "folders": os.listdir(settings["run_folder"])}


def _deferred(operator: Any) -> tuple[str, dict[str, Any], Any]:
    """Name of the trigger, place of the run, and the trigger as another process has it."""
    from airflow.sdk.exceptions import TaskDeferred  # noqa: PLC0415 - of another environment

    try:
        operator.execute({})
    except TaskDeferred as deferred:
        name, arguments = deferred.trigger.serialize()
        taken_over = type(deferred.trigger)(**json.loads(json.dumps(arguments)))
        return name, arguments["place"], taken_over
    raise AssertionError("it did not defer")


def lost_folder(settings: dict[str, Any]) -> dict[str, Any]:
    """Wait for a run of a machine that is gone, with its folder and without it."""
    from zkconsumer_operators import CommandRun  # noqa: PLC0415 - of another environment

    run = CommandRun.started(["sleep", "60"], settings["run_folder"], {})
    elsewhere = CommandRun(**{**run.place, "host": "one-that-is-gone"})
    found = {"with": [run.is_over(), elsewhere.is_over()]}
    run.remove()
    found["without"] = [run.is_over(), elsewhere.is_over()]
    run.signal(signal.SIGKILL)
    return {**found, "status": elsewhere.status()}


def killed_shell(settings: dict[str, Any]) -> dict[str, Any]:
    """Kill the shell around a command alone; then end what it left."""
    from zkconsumer_operators import CommandRun  # noqa: PLC0415 - of another environment

    run = CommandRun.started(["sleep", "600"], settings["run_folder"], {})
    wait_until((Path(run.place["folder"]) / "output").exists, what="the command")
    os.kill(run.place["pid"], signal.SIGKILL)
    os.waitpid(run.place["pid"], 0)
    found = [run.is_over()]
    run.signal(signal.SIGTERM)
    wait_until(run.is_over, what="the command to end")
    return {"over": [*found, run.is_over()], "status": run.status()}


async def _killed(trigger: Any) -> None:
    """As the triggerer does: the wait is cancelled first."""
    waiting = asyncio.ensure_future(anext(trigger.run()))
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    await trigger.on_kill()


def _endless(settings: dict[str, Any]) -> Any:
    from zkconsumer_operators import ZkconsumerDrainOperator  # noqa: PLC0415

    class Endless(ZkconsumerDrainOperator):  # type: ignore[misc]
        """Goes on when everything is landed."""

        def words(self) -> list[str]:
            return [word if word != "--once" else "--continuous" for word in super().words()]

    return Endless(task_id="drain", **settings)


def _wait_for_batches(path: str) -> None:
    batches = Path(path) / "_zkconsumer/batches"
    wait_until(lambda: batches.exists() and any(batches.iterdir()), timeout_s=60, what="a batch")


if __name__ == "__main__":
    result = globals()[sys.argv[1]](json.loads(sys.argv[2]))
    sys.stdout.write("\n" + json.dumps(result) + "\n")
