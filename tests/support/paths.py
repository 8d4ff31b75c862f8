"""Finds a value inside a message by its path, as errors write it."""

import re
from typing import Any

_STEP = re.compile(r"\.?(\w+)|\[(\d+)\]")


def at(message: object, path: str) -> Any:
    """Give what lies at a path such as ``topics[0].partitions[3].error_code``."""
    found: Any = message
    for name, index in _STEP.findall(path):
        found = getattr(found, name) if name else found[int(index)]
    return len(found) if isinstance(found, memoryview) else found
