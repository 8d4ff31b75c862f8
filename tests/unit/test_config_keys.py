import dataclasses
import typing
from pathlib import Path
from typing import Any

import zkconsumer
from scripts.generate.configuration import markdown
from zkconsumer.config import ConsumerConfig
from zkconsumer.config_keys import BY_KEY, KEYS
from zkconsumer.config_spec import ConfigKey

ROOT = Path(zkconsumer.__file__).parents[1]


def type_of(spec: ConfigKey) -> object:
    """Return the annotation that the attribute of this setting should have."""
    optional = spec.default is None and spec.derive is None and not spec.required
    match spec.kind:
        case "int":
            return int
        case "bool":
            return bool
        case "choice":
            literal: Any = typing.Literal[spec.choices]
            return literal | None if optional else literal
        case "text":
            return str | None if optional else str


def test_the_table_and_the_attributes_agree() -> None:
    """The table of settings and the attributes have the same names and types."""
    hints = typing.get_type_hints(ConsumerConfig)
    fields = [field.name for field in dataclasses.fields(ConsumerConfig)]
    assert sorted(fields) == sorted(spec.attribute for spec in KEYS)
    assert {spec.attribute: type_of(spec) for spec in KEYS} == {
        text: hints[text] for text in fields
    }


def test_keys_are_unique_and_spelled_as_in_kafka() -> None:
    """Keys are lower case with dots, so an underscore always stands for a dot."""
    assert len(BY_KEY) == len(KEYS)
    assert all(key == key.lower() and "_" not in key for key in BY_KEY)


def test_every_default_is_allowed() -> None:
    """Each setting can be given its own default."""
    required = {"zookeeper.connect": "h:1", "group.id": "g"}
    defaults = ConsumerConfig(required)
    again = ConsumerConfig(
        {**required, **{spec.key: getattr(defaults, spec.attribute) for spec in KEYS}}
    )
    assert again == defaults


def test_every_key_is_described() -> None:
    """Each setting has a sentence and the version that introduced it."""
    assert all(spec.doc.endswith(".") and spec.since for spec in KEYS)
    ours = {spec.key for spec in KEYS if spec.since == "zkconsumer"}
    assert ours == {
        "fetch.message.catch.up.max.bytes",
        "fetch.message.growth.max.bytes",
        "fetch.max.decompressed.bytes",
        "shutdown.timeout.ms",
        "queued.max.bytes",
        "fetch.max.bytes",
        "delivery",
        "poison.policy",
        "poison.dead.letter.file",
        "owner.audit.interval.ms",
        "zookeeper.silence.percent",
        "zookeeper.auth.scheme",
        "zookeeper.auth.username",
        "zookeeper.auth.password",
    }


def test_the_documentation_is_up_to_date() -> None:
    """docs/configuration.md equals what ``make generated`` prints."""
    assert (ROOT / "docs" / "configuration.md").read_text() == markdown()


def test_the_documentation_holds_a_row_for_each_key() -> None:
    """The table lists every setting once, with as many columns as its header."""
    rows = [line for line in markdown().splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == sorted(
        BY_KEY, key=lambda key: (BY_KEY[key].inert, list(BY_KEY).index(key))
    )
    assert all(row.count("|") == 6 for row in rows)
