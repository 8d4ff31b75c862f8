import typing

from zkconsumer.config_spec import ConfigKey
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.settings.inert_keys import REFUSED
from zkconsumer.consumer.settings.keys import BY_KEY, KEYS
from zkconsumer.consumer.settings.objects import OBJECTS

WORKING = [spec for spec in KEYS if not spec.inert]


def type_of(spec: ConfigKey) -> object:
    """Return the annotation that the attribute of this setting should have."""
    optional = spec.default is None and spec.derive is None and not spec.required
    if spec.kind == "choice":
        kind: typing.Any = typing.Literal.__getitem__(spec.choices)
        return kind | None if optional else kind
    if spec.kind == "text":
        return str | None if optional else str
    return {"int": int, "bool": bool}[spec.kind]


def test_the_table_and_the_attributes_agree() -> None:
    """The table of settings and the attributes have the same names and types."""
    hints = typing.get_type_hints(PollConfig)
    ours = {
        name: hints[name]
        for name in hints
        if name not in ("objects", "zookeeper", "inert", "given", "found_version")
    }
    assert ours == {spec.attribute: type_of(spec) for spec in WORKING}


def test_keys_are_unique_and_have_no_underscores() -> None:
    """An underscore in an attribute thus always stands for a dot."""
    assert len(BY_KEY) == len(KEYS)
    every = [*BY_KEY, *OBJECTS, *REFUSED]
    assert len(set(every)) == len(every)
    assert all(key == key.lower() and "_" not in key for key in every)


def test_every_default_is_allowed() -> None:
    """Each setting can be given its own default."""
    defaults = PollConfig()
    given = {spec.key: getattr(defaults, spec.attribute) for spec in WORKING}
    again = PollConfig(given)
    for spec in WORKING:
        assert getattr(again, spec.attribute) == getattr(defaults, spec.attribute)


def test_every_key_is_described() -> None:
    """Each setting has a sentence and the client that introduced it."""
    assert all(spec.doc.endswith((".", "...")) and spec.since for spec in KEYS)
    assert all(object_.doc.endswith(".") and object_.allowed for object_ in OBJECTS.values())
