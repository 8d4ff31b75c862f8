"""What changes in a program that comes from kafka-python: its imports, by this map alone."""

import re
from typing import Final

CHANGED: Final[dict[str, str]] = {
    "kafka": "zkconsumer",
    "kafka.consumer.group": "zkconsumer",
    "kafka.errors": "zkconsumer.errors",
    "kafka.structs": "zkconsumer.structs",
    # Python's own, which was a package of its own when 2.0.2 was written.
    "mock": "unittest.mock",
}
KEPT: Final[frozenset[str]] = frozenset(
    {
        # Parts of kafka-python that its tests look into, or are helped by.
        "kafka.codec",
        "kafka.conn",
        "kafka.coordinator.base",
        "kafka.protocol.broker_version_data",
        "kafka.vendor",
        "kafka.vendor.six.moves",
    }
)
_IMPORT = re.compile(r"^(\s*(?:from|import)\s+)((?:kafka|mock)(?:\.\w+)*)(?=\s|$)", re.MULTILINE)


def rewrite(program: str) -> str:
    """Change a program's imports.

    Raises:
        ValueError: it imports a part of kafka-python that is in neither list.
    """

    def changed(found: re.Match[str]) -> str:
        words, module = found.groups()
        if module in KEPT:
            return found[0]
        if module not in CHANGED:
            raise ValueError(f"nothing says what to import in place of {module}")
        return words + CHANGED[module]

    return _IMPORT.sub(changed, program)
