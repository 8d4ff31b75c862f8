"""Reads the options of broker security, in Spark's spelling and kafka-python's. Pure.

Spark passes ``kafka.*`` to its client, so its users write ``kafka.security.protocol``; users of
kafka-python write ``security_protocol``. Both are accepted wherever options are read.
"""

from collections.abc import Mapping
from typing import Final

from zkconsumer.config_security import SECURITY_NAMES, SECURITY_PREFIXES, require_known
from zkconsumer.config_zookeeper import SECURITY_NAMES as OF_ZOOKEEPER
from zkconsumer.errors import ConfigError
from zkconsumer.net.security import SecuritySettings, read_security

_PREFIX: Final = "kafka."


def is_of_security(option: str) -> bool:
    """Return whether an option, by its name in lower case, configures broker security."""
    return _setting(option) in SECURITY_NAMES


def read_broker_security(options: Mapping[str, str]) -> SecuritySettings:
    """Read the settings of broker security, for the source, the sink, the drain and RDDs.

    Args:
        options: options by their names in lower case; others are ignored.

    Raises:
        ConfigError: an option is unknown, invalid, or given twice; names it, without values that
            may be secret.
    """
    given: dict[str, str] = {}
    names: dict[str, str] = {}
    for option, text in options.items():
        setting = _setting(option)
        require_known(setting, f"option {option}")
        if setting not in SECURITY_NAMES:
            continue
        if given.setdefault(setting, text) != text:
            raise ConfigError(f"{option} and another name of it say different things: give one")
        names[setting] = option
    if "security.protocol" in given:
        given["security.protocol"] = given["security.protocol"].strip().upper()
    try:
        return read_security(given)
    except ConfigError as error:
        raise ConfigError(_by_option(str(error), names)) from error


def options_in_file(properties: Mapping[str, str]) -> dict[str, str]:
    """Convert a client's properties file, as Kafka's own tools accept it, to options.

    Args:
        properties: the file's settings; those not about authentication or encryption are ignored.
    """
    options: dict[str, str] = {}
    for key, text in properties.items():
        if key.startswith(SECURITY_PREFIXES):
            options[_PREFIX + key] = text
        elif key in OF_ZOOKEEPER:
            options[key] = text
    return options


def _by_option(text: str, names: Mapping[str, str]) -> str:
    """Replace the name of a setting at the start of an error with the option's name."""
    for setting, option in names.items():
        if text.startswith((f"{setting} ", f"{setting}=", f"{setting}:")):
            return option + text.removeprefix(setting)
    return text


def _setting(option: str) -> str:
    return option.removeprefix(_PREFIX).replace("_", ".")
