"""``python -m tests.support.recipe``: runs a program of docs/examples, and kills it at a point.

It calls the program's ``run`` as users do, but with shorter sessions, and kills itself with SIGKILL
at a given moment: nothing is closed, flushed or committed any more.

Its argument is a ``Recipe`` as JSON.
"""

import dataclasses
import importlib.util
import json
import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Self

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SHORT_SESSION: Mapping[str, Any] = {"session_timeout_ms": 1000, "heartbeat_interval_ms": 250}

BEFORE_WORK, AFTER_WORK = "before work", "after work"
AFTER_COMMIT, STATEMENT = "after commit", "statement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The program to run, and when to kill it.

    Attributes:
        program: the file's name without ``.py``.
        arguments: the arguments of its ``run``.
        settings: further settings of the consumer.
        dies: the point: one of the constants above; empty: it is not killed.
        at: how often the point must be reached, from 1.
    """

    program: str
    arguments: Sequence[str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    dies: str = ""
    at: int = 0

    def command(self) -> list[str]:
        """Return the command that runs it."""
        return [sys.executable, "-m", __name__, json.dumps(dataclasses.asdict(self))]

    @classmethod
    def of_command_line(cls) -> Self:
        """Return the recipe of this process's command line."""
        return cls(**json.loads(sys.argv[1]))


def load(program: str) -> ModuleType:
    """Import a program without running it."""
    spec = importlib.util.spec_from_file_location(program, EXAMPLES / f"{program}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Death:
    """Kills the process at the nth call."""

    def __init__(self, at: int) -> None:
        self._left = at

    def __call__(self) -> None:
        """Count a call."""
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGKILL)


def before(function: Callable[..., Any], what: Callable[[], None]) -> Callable[..., Any]:
    """Return the function, with ``what`` called before it."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        what()
        return function(*args, **kwargs)

    return wrapped


def after(function: Callable[..., Any], what: Callable[[], None]) -> Callable[..., Any]:
    """Return the function, with ``what`` called after it."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        what()
        return result

    return wrapped


def plant(module: Any, recipe: Recipe) -> None:
    """Patch the program so that it is killed at the recipe's point."""
    death = Death(recipe.at)
    match recipe.dies:
        case "before work":
            module.work = before(module.work, death)
        case "after work":
            module.work = after(module.work, death)
        case "after commit":
            module.KafkaConsumer.commit = after(module.KafkaConsumer.commit, death)
        case "statement":
            module.open_database = traced(module.open_database, death)
        case _:
            assert not recipe.dies


def traced(
    open_database: Callable[[str], sqlite3.Connection], death: Callable[[], None]
) -> Callable[[str], sqlite3.Connection]:
    """Return ``open_database``, with ``death`` called for each SQL statement."""

    def opened(target: str) -> sqlite3.Connection:
        database = open_database(target)
        database.set_trace_callback(lambda _: death())
        return database

    return opened


def main() -> None:
    """Run the program of the recipe."""
    logging.basicConfig(level=logging.WARNING)
    recipe = Recipe.of_command_line()
    module = load(recipe.program)
    plant(module, recipe)
    module.run(*recipe.arguments, **{**SHORT_SESSION, **recipe.settings})


if __name__ == "__main__":
    main()
