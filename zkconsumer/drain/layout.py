"""Where a drain keeps what, below its path. Pure.

Spark and most other readers leave out what is below ``_zkconsumer``: its name begins with ``_``.
"""

import re
from collections.abc import Iterable

IDENTITY = "_zkconsumer/drain.json"
PLANS = "_zkconsumer/plans"
BATCHES = "_zkconsumer/batches"
STAGING = "_zkconsumer/staging"
TRANSLATION = "_zkconsumer/translation"
SCHEMAS = "_zkconsumer/schemas"
DEAD_LETTERS = "_dead_letters"
"""What could not be decoded: beside what was landed, and not among it for readers."""

_FILE = re.compile(r"([0-9]{10,})\.json")
_FOLDER = re.compile(r"[0-9]{10,}")


def batch_name(number: int) -> str:
    """A batch's number so that names sort as numbers do."""
    return f"{number:010d}"


def plan_file(number: int) -> str:
    """Where a plan is."""
    return f"{PLANS}/{batch_name(number)}.json"


def manifest_file(number: int) -> str:
    """Where a batch's manifest is."""
    return f"{BATCHES}/{batch_name(number)}.json"


def schema_file(number: int) -> str:
    """Where a schema is that values are decoded by."""
    return f"{SCHEMAS}/{batch_name(number)}.json"


def staging_folder(number: int) -> str:
    """Where all attempts to land a batch have their folders."""
    return f"{STAGING}/{batch_name(number)}"


def attempt_folder(number: int, attempt: str) -> str:
    """Where one attempt writes."""
    return f"{staging_folder(number)}/{attempt}"


def numbers_of_files(names: Iterable[str]) -> list[int]:
    """The numbers that names of plans or manifests stand for, sorted; other names are left out."""
    return sorted(int(match[1]) for name in names if (match := _FILE.fullmatch(name)))


def numbers_of_folders(names: Iterable[str]) -> list[int]:
    """The numbers that names of staging folders stand for, sorted; other names are left out."""
    return sorted(int(name) for name in names if _FOLDER.fullmatch(name))
