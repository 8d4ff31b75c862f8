"""What was given for a setting, as the value that its row in a table says. Pure."""

import re

from zkconsumer.config_spec import ConfigKey, Value
from zkconsumer.errors import ConfigError
from zkconsumer.printable import shown

_INTEGER = re.compile(r"[+-]?[0-9]+")


def read_value(spec: ConfigKey, raw: object) -> Value:
    """Read what was given for a setting.

    Raises:
        ConfigError: names the key, the value and what is allowed.
    """
    value: Value
    match spec.kind:
        case "bool":
            value = _read_bool(raw)
        case "int":
            value = _read_int(raw, spec)
        case "choice":
            value = _read_choice(raw, spec)
        case "text":
            value = raw if isinstance(raw, str) and (not spec.legal or spec.legal(raw)) else None
    if value is None:
        text = "" if spec.kind != "text" or isinstance(raw, str) else "a text: "
        reported = "not readable" if spec.secret else shown(raw)
        raise ConfigError(f"{spec.key} is {reported}: it must be {text}{spec.allowed}")
    return value


def _read_bool(raw: object) -> bool | None:
    if isinstance(raw, bool):
        return raw
    return {"true": True, "false": False}.get(raw.strip()) if isinstance(raw, str) else None


def _read_int(raw: object, spec: ConfigKey) -> int | None:
    if isinstance(raw, bool):
        return None
    # The bound on the length keeps a huge text from becoming a huge number.
    if isinstance(raw, str) and len(raw) <= 64 and _INTEGER.fullmatch(raw.strip()):
        raw = int(raw)
    if not isinstance(raw, int) or not spec.low <= raw <= spec.high:
        return None
    return raw


def _read_choice(raw: object, spec: ConfigKey) -> str | None:
    if not isinstance(raw, str):
        return None
    text = raw.strip().lower() if spec.any_case else raw.strip()
    text = spec.synonyms.get(text, text)
    return text if text in spec.choices else None
