"""The paths of a drain's own files, relative to its path. Pure.

Spark and most other readers skip ``_zkconsumer``: its name begins with ``_``.
"""

import re
from collections.abc import Iterable

IDENTITY = "_zkconsumer/drain.json"
PLANS = "_zkconsumer/plans"
BATCHES = "_zkconsumer/batches"
STAGING = "_zkconsumer/staging"
PROBES = "_zkconsumer/probes"
TRANSLATION = "_zkconsumer/translation"
SCHEMAS = "_zkconsumer/schemas"
DEAD_LETTERS = "_dead_letters"
"""The folder of undecodable messages, which readers of the landing skip."""

_FILE = re.compile(r"([0-9]{10,})\.json")
_FOLDER = re.compile(r"[0-9]{10,}")


def batch_name(number: int) -> str:
    """Format a batch's number so that names sort as numbers do."""
    return f"{number:010d}"


def plan_file(number: int) -> str:
    """Return a plan's path."""
    return f"{PLANS}/{batch_name(number)}.json"


def manifest_file(number: int) -> str:
    """Return the path of a batch's manifest."""
    return f"{BATCHES}/{batch_name(number)}.json"


def schema_file(number: int) -> str:
    """Return the path of an adopted schema."""
    return f"{SCHEMAS}/{batch_name(number)}.json"


def staging_folder(number: int) -> str:
    """Return the folder of all attempts to land a batch."""
    return f"{STAGING}/{batch_name(number)}"


def attempt_folder(number: int, attempt: str) -> str:
    """Return the folder of one attempt."""
    return f"{staging_folder(number)}/{attempt}"


def numbers_of_files(names: Iterable[str]) -> list[int]:
    """Return the batch numbers in names of plans or manifests, sorted; skip other names."""
    return sorted(int(match[1]) for name in names if (match := _FILE.fullmatch(name)))


def numbers_of_folders(names: Iterable[str]) -> list[int]:
    """Return the batch numbers in names of staging folders, sorted; skip other names."""
    return sorted(int(name) for name in names if _FOLDER.fullmatch(name))
