"""Describe a setting: the columns of the table in ``zkconsumer.config_keys``."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Literal, TypeAlias

Value: TypeAlias = str | int | bool | None
Values: TypeAlias = Mapping[str, Value]

INT_MAX = 2**31 - 1
INT_MIN = -(2**31)


def at_least(least: int, key: str) -> Callable[[Values], Value]:
    """Return a default for ``ConfigKey.derive``: the value of another key, but at least this."""

    def derive(values: Values) -> Value:
        other = values[key]
        return max(least, other if isinstance(other, int) else 0)

    return derive


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One setting. A row of a table is ``ConfigKey(...).means("what it does")``.

    Attributes:
        key: its name with dots, as in Kafka's own files.
        kind: the type of its value.
        doc: what it does, in Markdown.
        default: the value if none is given; None means *not set*.
        derive: computes the default from the settings above it in the table, by key.
        follows: the key of a setting above it whose value it takes if only that is given.
        derived_text: how its default is found, in words, for the documentation.
        required: there is no default and the key must be given.
        low: the smallest integer allowed.
        high: the largest integer allowed.
        choices: the texts allowed, for the kind ``choice``.
        synonyms: other accepted texts, with the choice that each means.
        any_case: a choice may be given in upper or lower case.
        legal: returns whether a text is allowed.
        legal_text: that test in words.
        since: the first Kafka version that has it, or the client whose setting it is, such as
            ``kafka-python``; ``zkconsumer`` for our own.
        secret: its value is never shown.
        inert: accepted so that Kafka's own files can be used, but without effect.
        accepts: the type of its keyword argument for type checkers, as Python source; empty: the
            type of ``kind``.
    """

    key: str
    kind: Literal["text", "int", "bool", "choice"]
    _: KW_ONLY
    doc: str = ""
    default: Value = None
    derive: Callable[[Values], Value] | None = None
    follows: str = ""
    derived_text: str = ""
    required: bool = False
    low: int = INT_MIN
    high: int = INT_MAX
    choices: tuple[str, ...] = ()
    synonyms: Mapping[str, str] = field(default_factory=dict)
    any_case: bool = False
    legal: Callable[[str], bool] | None = None
    legal_text: str = ""
    since: str = "0.8.0"
    secret: bool = False
    inert: bool = False
    accepts: str = ""

    def means(self, doc: str) -> "ConfigKey":
        """Return this setting with a description in Markdown."""
        return replace(self, doc=doc)

    @property
    def attribute(self) -> str:
        """The name of the attribute of ``ConsumerConfig`` that holds it."""
        return self.key.replace(".", "_")

    @property
    def allowed(self) -> str:
        """What values are allowed, in words."""
        match self.kind:
            case "bool":
                return "true or false"
            case "choice":
                also = "".join(f" ({other} means {it})" for other, it in self.synonyms.items())
                return " or ".join(self.choices) + also
            case "int":
                if self.low == INT_MIN:
                    return "a 32-bit integer"
                above = "" if self.high == INT_MAX else f" and at most {self.high}"
                return f"an integer of at least {self.low}{above}"
            case "text":
                return self.legal_text or "text"
