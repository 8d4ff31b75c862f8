"""``python -m tests.alike.worker LIBRARY BOOTSTRAP NAMES``: run these cases with one library.

Names are separated by newlines. Each outcome is printed as a line of JSON as soon as its case ends.
"""

import json
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Sequence

from tests.alike.casebook import Case, all_cases
from tests.alike.library import Library
from tests.alike.outcomes import Outcome
from tests.alike.scene import Scene, in_thread
from tests.alike.writing import Writer

AT_ONCE = 8
LIMIT_S = 40.0
"""A case that takes longer counts as hung."""

_reported = threading.Lock()


def notify(name: str, outcome: Outcome, took_s: float) -> None:
    """Print an outcome as a line for ``comparison``."""
    with _reported:
        sys.stdout.write(json.dumps([name, outcome, round(took_s, 2)]) + "\n")
        sys.stdout.flush()


def run(case: Case, scene: Scene) -> None:
    """Run a case and print its outcome."""
    start = time.perf_counter()
    outcome = scene.attempt(lambda: case.body(scene)).outcome
    notify(case.name, outcome, time.perf_counter() - start)
    scene.close()


def main(library_name: str, bootstrap: str, names: Sequence[str]) -> None:
    """Run the cases of these names, several at a time."""
    library, writer = Library(library_name), Writer(bootstrap)
    waiting: queue.SimpleQueue[tuple[int, Case]] = queue.SimpleQueue()
    for number, case in enumerate(all_cases()):
        if case.name in names:
            waiting.put((number, case))
    under_way: dict[int | None, float] = {}

    def work() -> None:
        while True:
            try:
                number, case = waiting.get_nowait()
            except queue.Empty:
                return
            under_way[threading.get_ident()] = time.perf_counter()
            run(case, Scene(library, bootstrap, writer, number))

    cursors = [in_thread(work) for _ in range(AT_ONCE)]
    while any(
        cursor.is_alive()
        and time.perf_counter() - under_way.get(cursor.ident, time.perf_counter()) < LIMIT_S
        for cursor in cursors
    ):
        for cursor in cursors:
            cursor.join(0.05)


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("ALIKE_LOG", "CRITICAL"))
    main(sys.argv[1], sys.argv[2], sys.argv[3].splitlines())
    sys.stdout.flush()
    os._exit(0)  # a library may have left threads running
