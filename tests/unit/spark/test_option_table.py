"""The table of options, the code that reads them, and their documentation agree."""

from pathlib import Path

import pytest

import zkconsumer
from scripts.generate.spark_options import markdown
from zkconsumer.config_security import SECURITY_KEYS
from zkconsumer.errors import ConfigError
from zkconsumer.spark.kafka_options import ALIASES, EFFECTIVE, REFUSED
from zkconsumer.spark.option_table import BY_NAME, DEFAULTS, OPTIONS, Option
from zkconsumer.spark.options import SourceOptions, source_options

ROOT = Path(zkconsumer.__file__).parents[1]
LEAST = {"subscribe": "t", "zookeeper.connect": "z:1", "group.id": "g"}
IMPOSSIBLE = "\x00 ["
FREE_TEXT = {
    *("kafka.client.id", "groupIdPrefix"),
    # A path, a name or a secret is checked only when connecting to a broker.
    *(f"kafka.{spec.key}" for spec in SECURITY_KEYS if spec.kind == "text"),
    *("kafka.ssl.truststore.location", "kafka.ssl.truststore.password"),
    *("kafka.ssl.keystore.location", "kafka.ssl.keystore.password", "kafka.ssl.key.password"),
}


def names(option: Option) -> bool:
    """Return whether the option selects partitions; just one such may be given."""
    return option.name in {"subscribe", "subscribePattern", "assign"}


def test_names_are_unique_whatever_their_case() -> None:
    """Option names are unique regardless of case, as Spark compares them."""
    assert len(BY_NAME) == len(OPTIONS)
    assert not set(BY_NAME) & set(REFUSED)


def test_every_option_is_described() -> None:
    """Each option has a description that ends as a sentence, and says what is allowed."""
    assert all(option.doc.endswith((".", ".)")) and option.allowed for option in OPTIONS)
    ours = {option.name for option in OPTIONS if option.ours}
    assert {"zookeeper.connect", "group.id", "commitOffsetsTo", "allowLiveGroup"} <= ours
    assert "startingOffsets" not in ours


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_every_option_is_read(option: Option) -> None:
    """An impossible value of any option but free text is an error that names the option."""
    given = {} if names(option) else LEAST
    given = {**given, "zookeeper.connect": "z:1", option.name.upper(): IMPOSSIBLE}
    given.pop(option.name, None)
    if option.name in FREE_TEXT:
        source_options(given)
        return
    with pytest.raises(ConfigError) as caught:
        source_options(given)
    assert option.name in str(caught.value)


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_default_may_be_given(name: str) -> None:
    """An option that is given with its default changes nothing."""
    without = source_options(LEAST)
    given = source_options({**LEAST, name: DEFAULTS[name]})
    assert comparable(given) == comparable(without)


def comparable(options: SourceOptions) -> dict[str, object]:
    """Return everything about options except which of them were given."""
    names_of = SourceOptions.__dataclass_fields__
    return {
        name: getattr(options, name)
        for name in names_of
        if name not in {"_given", "starting_given"}
    }


def test_settings_of_the_client_are_documented() -> None:
    """Each client setting that has an effect is named in the page on options."""
    text = markdown()
    assert [name for name in sorted(EFFECTIVE) if name not in text and name not in ALIASES] == []
    assert [name for name in REFUSED if f"| `{name}` |" not in text] == []


def test_the_documentation_is_up_to_date() -> None:
    """docs/spark-options.md is what ``make generated`` prints."""
    assert (ROOT / "docs" / "spark-options.md").read_text() == markdown()


def test_the_documentation_holds_a_row_for_each_option() -> None:
    """Each option has a row in the documentation, with as many columns as the header."""
    rows = [line for line in markdown().splitlines() if line.startswith("| `")]
    options = [row for row in rows if row.split("`")[1] not in REFUSED]
    assert [row.split("`")[1] for row in options] == [option.name for option in OPTIONS]
    assert all(row.replace("\\|", "").count("|") == 5 for row in options)
