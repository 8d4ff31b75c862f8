"""Encodes values without a column type of their own as JSON text. Pure."""

import json
import math
from typing import Any


def json_text(value: object) -> str:
    """Return the JSON of a decoded value; bytes are encoded as in Avro's JSON, one character each.

    Raises:
        RecursionError: it is nested too deep.
    """
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False, default=str)


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode("latin-1")
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {str(name): _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case _:
            return value
