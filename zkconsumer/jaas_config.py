"""Parse the JAAS configuration that Kafka's clients take as ``sasl.jaas.config``. Pure.

Source: KIP-85, Kafka 3.9 ``JaasConfig``; the login modules of Kafka and of the JDK.
"""

import re
from collections.abc import Mapping
from typing import Final

from zkconsumer.errors import ConfigError

_LONGEST: Final = 64 << 10
_MODULE = re.compile(
    r"\s*([A-Za-z_$][\w$.]*)\s+(required|requisite|sufficient|optional)\b", re.IGNORECASE
)
_OPTION = re.compile(r'\s*([A-Za-z_$][\w$.]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";=]+))')
_END = re.compile(r"\s*;\s*")
_ESCAPED = re.compile(r"\\(.)")

_USER: Final = {"username": "sasl.plain.username", "password": "sasl.plain.password"}
_MODULES: Final[Mapping[str, tuple[str | None, Mapping[str, str]]]] = {
    "PlainLoginModule": ("PLAIN", _USER),
    "ScramLoginModule": (None, _USER),
    "OAuthBearerLoginModule": (
        "OAUTHBEARER",
        {
            "clientId": "sasl.oauthbearer.client.credentials.client.id",
            "clientSecret": "sasl.oauthbearer.client.credentials.client.secret",
            "scope": "sasl.oauthbearer.scope",
        },
    ),
    "Krb5LoginModule": (
        "GSSAPI",
        {
            "keyTab": "sasl.kerberos.keytab",
            "principal": "sasl.kerberos.principal",
            "serviceName": "sasl.kerberos.service.name",
            # The keytab decides between the first two; the others concern the JDK only.
            **dict.fromkeys(
                ("useKeyTab", "useTicketCache", "storeKey", "doNotPrompt", "renewTGT", "debug"), ""
            ),
        },
    ),
}
"""The mechanism of each login module, if it is the only one, and our names for its options; an
empty name: the option is ignored."""


def settings_in_jaas(setting: str, text: str) -> Mapping[str, str]:
    """Return the settings of a JAAS configuration by our names; ``sasl.mechanism`` if it has one.

    Args:
        setting: the name of the setting, for errors; its value is secret and never shown.
        text: ``...ScramLoginModule required username="reader" password="...";``

    Raises:
        ConfigError: it can't be parsed, or names an unknown module or option.

    Example:
        >>> settings_in_jaas("sasl.jaas.config", 'a.PlainLoginModule required username="u";')
        {'sasl.mechanism': 'PLAIN', 'sasl.plain.username': 'u'}
    """
    module, options = _parsed(setting, text)
    known = _MODULES.get(module.rpartition(".")[2])
    if known is None:
        raise ConfigError(f"{setting} names {module}: known here are {', '.join(sorted(_MODULES))}")
    mechanism, names = known
    found = {} if mechanism is None else {"sasl.mechanism": mechanism}
    for option, value in options.items():
        if option not in names:
            raise ConfigError(
                f"{setting}: option {option} of {module} has no effect here; known are "
                f"{', '.join(name for name in names if names[name])}"
            )
        if names[option]:
            found[names[option]] = value
    return found


def _parsed(setting: str, text: str) -> tuple[str, dict[str, str]]:
    head = _MODULE.match(text) if len(text) <= _LONGEST else None
    if head is None:
        raise ConfigError(
            f"{setting} is not a login module: expected 'module required name=\"value\";'"
        )
    options: dict[str, str] = {}
    place = head.end()
    while (match := _OPTION.match(text, place)) is not None:
        name, quoted, bare = match.groups()
        options[name] = bare if quoted is None else _ESCAPED.sub(r"\1", quoted)
        place = match.end()
    end = _END.match(text, place)
    if end is None or end.end() != len(text):
        raise ConfigError(
            f'{setting} can\'t be read from its character {place} on: expected name="value", one '
            "module, and a semicolon at the end"
        )
    return head[1], options
