"""Local drains that are killed at every step: ``killed_drain FOLDER SETTINGS FIRST EVERY``.

Each has a folder of its own, ``FOLDER/1`` and so on: the first is killed at step FIRST, the next
EVERY steps later, until one completes. Each is then run again, and verified. They are killed by
``SIGKILL``, before or after a change of the storage. A line of JSON is printed for each.

They are forked from a process that has loaded everything but started no thread, so that each takes
less than a second.

With Iceberg each drain has its own catalog, or its own table in a shared one: NUMBER in the
catalog's properties and in the table's name is replaced by the drain's number.
"""

import dataclasses
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO

from zkconsumer.drain import DecodeSettings, DrainSettings, drain_locally, verify_locally
from zkconsumer.drain.local.data_files import LocalFiles, StreamedStorage
from zkconsumer.drain.local.hdfs_storage import HdfsStorage
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.local.object_storage import ObjectStorage
from zkconsumer.spark.group_progress import GroupProgress

_STEPS: Sequence[tuple[type, str]] = (
    *((LocalStorage, name) for name in ("create", "move", "delete")),
    *((ObjectStorage, name) for name in ("create", "move", "delete")),
    *((HdfsStorage, name) for name in ("create", "move", "delete")),
    (StreamedStorage, "output"),
    *((LocalFiles, name) for name in ("output", "keep")),
    (DeltaTable, "create_write_transaction"),
    *((SqlCatalog, name) for name in ("create_table", "commit_table")),
    (PyArrowFileIO, "new_output"),
    (GroupProgress, "commit"),
)
_ENDED = 0


class Fuse:
    """Kills this process at a step.

    Args:
        left: the number of the step at which the process is killed, from 1.
        reported: the file for the name of that step.
    """

    def __init__(self, left: int, reported: Path) -> None:
        self._left = left
        self._reported = reported

    def arm(self) -> None:
        """Patch all methods that change the storage, so that they count steps."""
        for owner, name in _STEPS:
            self._arm(owner, name)

    def _arm(self, owner: type, name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def armed(*args: Any, **kwargs: Any) -> Any:
            what = args[1] if len(args) > 1 and isinstance(args[1], str) else ""
            self._step(f"before {name} {what}")
            result = original(*args, **kwargs)
            self._step(f"behind {name} {what}")
            return result

        setattr(owner, name, armed)

    def _step(self, name: str) -> None:
        self._left -= 1
        if self._left == 0:
            self._reported.write_text(name.split("{", maxsplit=1)[0])
            os.kill(os.getpid(), signal.SIGKILL)


def _in_child(work: Callable[[], int]) -> int:
    """Run ``work`` in a forked child; return its exit status, or minus its signal."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = work()
        except BaseException:  # noqa: BLE001 - printed, and the child ends here
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _drained(settings: DrainSettings, fuse: Fuse | None) -> int:
    if fuse is not None:
        fuse.arm()
    return _ENDED if drain_locally(settings).finished else 98


def _verified(settings: DrainSettings) -> int:
    return verify_locally(settings.path, target_options=settings.target_options).outcome.value


def main(folder: str, base: DrainSettings, first: int, every: int) -> None:
    """Kill a drain at each of these steps, run it again, and verify it."""
    root = base.path.rstrip("/") if "://" in base.path else folder
    for number in range(first, 1_000, every):
        settings = dataclasses.replace(
            base,
            path=f"{root}/{number}",
            group=f"{base.group}-{number}",
            table=None if base.table is None else base.table.replace("NUMBER", str(number)),
            target_options={
                name: value.replace("NUMBER", str(number))
                for name, value in base.target_options.items()
            },
        )
        reported = Path(folder) / f"step-{number}"
        status = _in_child(lambda: _drained(settings, Fuse(number, reported)))  # noqa: B023
        killed = status == -signal.SIGKILL
        again = _in_child(lambda: _drained(settings, None)) if killed else status  # noqa: B023
        outcome = _in_child(lambda: _verified(settings))  # noqa: B023
        step = reported.read_text() if killed else "the end"
        line = {"path": settings.path, "step": step, "again": again, "verdict": outcome}
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()
        if not killed:
            return


if __name__ == "__main__":
    given = json.loads(sys.argv[2])
    decode = given.pop("decode", None)
    wanted = DrainSettings(
        **{**given, "topics": tuple(given["topics"])},
        decode=None if decode is None else DecodeSettings(**decode),
    )
    main(sys.argv[1], wanted, int(sys.argv[3]), int(sys.argv[4]))
