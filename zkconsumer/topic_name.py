"""Checks names of topics by Kafka's rule. Pure."""

import re
from typing import TypeGuard

_LEGAL = re.compile(r"[a-zA-Z0-9._-]{1,255}")


def is_topic_name(name: object) -> TypeGuard[str]:
    """Return whether Kafka accepts ``name`` as a topic name (``kafka.common.Topic.validate``)."""
    return isinstance(name, str) and name not in {".", ".."} and _LEGAL.fullmatch(name) is not None
