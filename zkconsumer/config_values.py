"""Read the values given for settings, and check them by their rows in a table. Pure."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType

from zkconsumer.config_spec import ConfigKey, Value
from zkconsumer.errors import ConfigError
from zkconsumer.nearest import did_you_mean
from zkconsumer.printable import printable, shown

_INTEGER = re.compile(r"[+-]?[0-9]+")


def gathered(
    config: Mapping[str, object] | None,
    settings: Mapping[str, object],
    known: Collection[str],
    *,
    prefixes: tuple[str, ...] = (),
    refused: Mapping[str, str] = MappingProxyType({}),
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, object]:
    """Return all settings that were given, by keys with dots; None counts as not given.

    Args:
        config: settings by their keys, with dots or underscores; None: none.
        settings: keyword arguments, which win.
        known: all known keys.
        prefixes: what other keys may begin with.
        refused: keys that can't be used, each with the reason.
        renamed: other clients' names with ours, for the error about an unknown key.

    Raises:
        ConfigError: ``config`` is not a map, a key is not text or is refused, or a key is unknown:
            then it names the most similar known one.
    """
    if config is not None and not isinstance(config, Mapping):
        raise ConfigError(f"settings {shown(config)}: give a map such as {{'group.id': 'g'}}")
    given: dict[str, object] = {}
    for name, value in (*(config or {}).items(), *settings.items()):
        if not isinstance(name, str):
            raise ConfigError(f"setting {name!r}: a key is a text such as group.id")
        key = name.replace("_", ".")
        if key not in known and key not in refused and not key.startswith(prefixes):
            if key in renamed:
                raise ConfigError(f"there is no setting {name}: here it is called {renamed[key]}")
            names = known if "." in name else [other.replace(".", "_") for other in known]
            raise ConfigError(f"there is no setting {printable(name)}{did_you_mean(name, names)}")
        if value is None:
            continue
        if key in refused:
            raise ConfigError(f"{name} can't be used: {refused[key]}")
        given[key] = value
    return given


def read_table(
    keys: Iterable[ConfigKey],
    given: Mapping[str, object],
    plain: Callable[[ConfigKey, object], object] = lambda _, raw: raw,
) -> dict[str, Value]:
    """Return the value of each setting of a table, by its key, with defaults.

    Args:
        keys: the table.
        given: settings by their keys with dots; others are ignored.
        plain: converts values of other accepted types to text, numbers and booleans.

    Raises:
        ConfigError: names the key, its value and what is allowed.
    """
    values: dict[str, Value] = {}
    for spec in keys:
        if (raw := given.get(spec.key)) is not None:
            values[spec.key] = read_value(spec, plain(spec, raw))
        elif spec.required:
            raise ConfigError(f"{spec.key} is required: give it {spec.allowed}")
        elif spec.follows and given.get(spec.follows) is not None:
            values[spec.key] = values[spec.follows]
        else:
            values[spec.key] = spec.derive(values) if spec.derive else spec.default
    return values


def read_value(spec: ConfigKey, raw: object) -> Value:
    """Return the value given for a setting, converted to the type of its row.

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
