"""Finds a value within a message by its path, in the notation of error messages."""

import re
from typing import Any

_STEP = re.compile(r"\.?(\w+)|\[(\d+)\]")


def at(message: object, path: str) -> Any:
    """Return the value at a path such as ``topics[0].partitions[3].error_code``."""
    value: Any = message
    for name, index in _STEP.findall(path):
        value = getattr(value, name) if name else value[int(index)]
    return len(value) if isinstance(value, memoryview) else value
