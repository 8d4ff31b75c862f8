"""Print what type checkers and editors know of settings: a ``TypedDict`` from each table.

A keyword argument has an entry with its type, default, range and meaning, so that a misspelt name
is an error before anything runs.
"""

import textwrap
from collections.abc import Iterable, Iterator

from zkconsumer.config_keys import KEYS as ZOOKEEPER_KEYS
from zkconsumer.config_security import JAVA_KEYS
from zkconsumer.config_spec import INT_MIN, ConfigKey
from zkconsumer.consumer.settings.keys import KEYS as POLL_KEYS
from zkconsumer.consumer.settings.objects import OBJECTS

_CONSUMER_HEAD = '''"""Keyword arguments of ``ConsumerConfig``, for type checkers and editors.

Printed by ``make generated`` from the table in ``config_keys``; a test fails when it is stale.
"""

from typing import Literal, TypedDict


class SharedSettings(TypedDict, total=False):
    """The settings that ``ConsumerConfig`` and ``KafkaConsumer`` share."""
'''

_GROUP_CLASS = '''

class ZookeeperGroupSettings(SharedSettings, total=False):
    """More shared settings: ``KafkaConsumer`` takes them with ``zookeeper_connect`` only."""
'''

_CONSUMER_CLASS = '''

class ConsumerSettings(ZookeeperGroupSettings, total=False):
    """Settings of a consumer of ZooKeeper groups, by their keys with underscores.

    None counts as not given. A function that passes settings on takes
    ``**settings: Unpack[ConsumerSettings]``.

    Example:
        >>> settings: ConsumerSettings = {"group_id": "billing", "client_id": "b1"}
        >>> config = ConsumerConfig(zookeeper_connect="zk1:2181", **settings)
    """
'''

_POLL_HEAD = '''"""Keyword arguments of ``KafkaConsumer``, for type checkers and editors.

Printed by ``make generated`` from the tables of this package and of ``zkconsumer.config_keys``; a
test fails when it is stale.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from ssl import SSLContext
from typing import Literal

from zkconsumer.config_typed import ZookeeperGroupSettings
from zkconsumer.consumer.settings.objects import AnyDeserializer, CommitCallback, TokenProvider


class KafkaConsumerSettings(ZookeeperGroupSettings, total=False):
    """Settings of a ``KafkaConsumer``, by their keys with underscores.

    None counts as not given. A function that passes settings on takes
    ``**settings: Unpack[KafkaConsumerSettings]``.

    Example:
        >>> settings: KafkaConsumerSettings = {"group_id": "billing", "client_id": "b1"}
        >>> consumer = KafkaConsumer("clicks", bootstrap_servers="kafka1:9092", **settings)
        >>> consumer.close()
    """
'''

_JAVA = "A setting of Java clients, in PEM form or as a path; see docs/security.md."
_OF_GROUPS = "In ZooKeeper groups only."
_WIDTH = 100


_Entry = tuple[str, str, list[str]]
"""A keyword argument, its type, and the paragraphs that explain it."""


def consumer_settings() -> str:
    """Return the source of ``zkconsumer.config_typed``."""
    shared, of_groups = _shared(), _of_groups()
    own = (entry for entry in _consumer_entries() if entry not in [*shared, *of_groups])
    marked = ((name, kind, [*doc[:-1], f"{doc[-1]} {_OF_GROUPS}"]) for name, kind, doc in of_groups)
    inherited = _CONSUMER_HEAD + _entries(shared) + _GROUP_CLASS + _entries(marked)
    return inherited + _CONSUMER_CLASS + _entries(own)


def poll_settings() -> str:
    """Return the source of ``zkconsumer.consumer.settings.typed``."""
    shared = _shared()
    return _POLL_HEAD + _entries(entry for entry in _poll_entries() if entry not in shared)


def _shared() -> list[_Entry]:
    polls = _poll_entries()
    return [entry for entry in _consumer_entries() if entry in polls]


def _of_groups() -> list[_Entry]:
    """Return the entries of settings that a poll takes in ZooKeeper groups only."""
    polled = {entry[0] for entry in _poll_entries()}
    return [entry for entry in _consumer_entries() if entry[0] not in polled]


def _consumer_entries() -> list[_Entry]:
    return [*map(_of_key, ZOOKEEPER_KEYS), *map(_of_java, JAVA_KEYS)]


def _poll_entries() -> list[_Entry]:
    entries = {entry[0]: entry for entry in map(_of_poll_key, POLL_KEYS)}
    for key, setting in OBJECTS.items():
        name = key.replace(".", "_")
        entries[name] = (name, setting.accepts, [setting.doc])
    for key in JAVA_KEYS:
        entry = _of_java(key)
        entries.setdefault(entry[0], entry)
    return list(entries.values())


def _of_key(spec: ConfigKey) -> _Entry:
    if spec.inert:
        return spec.attribute, _type_of(spec), [f"Has no effect here. {spec.doc}"]
    facts = " ".join(_facts(spec))
    return spec.attribute, _type_of(spec), [spec.doc, facts] if facts else [spec.doc]


def _facts(spec: ConfigKey) -> Iterator[str]:
    """Yield what the type of a setting does not tell."""
    if spec.required:
        yield "Required."
    elif spec.derived_text or spec.default is not None:
        yield f"Default: {spec.derived_text or repr(spec.default)}."
    if spec.legal_text or spec.synonyms or (spec.kind == "int" and spec.low > INT_MIN):
        yield f"Allowed: {spec.allowed}."


def _of_poll_key(spec: ConfigKey) -> _Entry:
    name, accepts, doc = _of_key(spec)
    if spec.accepts:
        return name, spec.accepts, doc
    if spec.inert:
        return name, "object", doc  # what another client makes of it
    if spec.kind == "int" and name.endswith("_ms"):
        return name, "float | None", doc  # as kafka-python takes times
    return name, accepts, doc


def _of_java(key: str) -> _Entry:
    return key.replace(".", "_"), "str | None", [_JAVA]


def _type_of(spec: ConfigKey) -> str:
    match spec.kind:
        case "text":
            return "str | None"
        case "choice":
            words = ", ".join(f'"{word}"' for word in (*spec.choices, *spec.synonyms))
            return f"Literal[{words}] | None"
        case kind:
            return f"{kind} | None"


def _entries(entries: Iterable[_Entry]) -> str:
    return "".join(_entry(*entry) for entry in entries)


def _entry(name: str, accepts: str, doc: list[str]) -> str:
    line = f"    {name}: {accepts}"
    if len(line) > _WIDTH:
        line = f"    {name}: (\n        {accepts}\n    )"
    text = _wrapped(doc)
    fits = len(text) + 2 * len('    """') <= _WIDTH and "\n" not in text
    end = "" if fits else "\n    "
    return f'\n{line}\n    """{text}{end}"""\n'


def _wrapped(paragraphs: list[str]) -> str:
    filled = (
        textwrap.fill(
            paragraph.replace("\\", "\\\\"),
            _WIDTH,
            initial_indent="    " if number else " " * 7,
            subsequent_indent="    ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        for number, paragraph in enumerate(paragraphs)
    )
    return "\n\n".join(filled).lstrip()
