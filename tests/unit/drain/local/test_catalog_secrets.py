"""No message has what a catalog's properties say."""

import traceback
from pathlib import Path

import pyiceberg.catalog
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.utils.config import Config

from zkconsumer.drain.local.catalog_secrets import without_secrets
from zkconsumer.drain.local.iceberg_table import IcebergTable
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.table_name import TableName
from zkconsumer.errors import DrainError

SECRET = "S3CR/ET"


@pytest.mark.parametrize(
    "properties",
    [
        {"uri": "mysql+pymysql://drain:S3CR%2FET@db.example/cat"},
        {"uri": "nothing://db.example/cat?password=S3CR%2FET"},
        {"type": "rest", "uri": "http://127.0.0.1:1", "token": f"{SECRET}\n"},
        {"type": "rest", "uri": "http://127.0.0.1:1", "token": f"{SECRET}\nMORE"},
        {"type": "sql", "uri": f"sqlite:////{SECRET}"},
        {"type": "rest", "uri": "http://127.0.0.1:1", "header.X-Key": f"{SECRET}\n"},
    ],
)
@pytest.mark.parametrize("where", ["command line", "configuration"])
def test_a_failing_catalog_tells_no_secret(
    tmp_path: Path, properties: dict[str, str], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does what is logged of it, its causes included."""
    if where == "configuration":
        for name, value in properties.items():
            monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKEHOUSE__{name.upper()}", value)
        # Read once, when pyiceberg is loaded.
        monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())
        properties = {}
    table = IcebergTable(TableName("lakehouse"), LocalStorage(str(tmp_path)), properties)
    with pytest.raises(DrainError, match="of catalog lakehouse at file://") as caught:
        table.state("0123abcd")
    shown = "".join(traceback.format_exception(caught.value))
    assert not [text for text in ("S3CR", "MORE") if text in shown], shown


@given(st.text(min_size=4), st.text(), st.text())
def test_a_value_is_cut_as_it_is_and_as_it_is_shown(value: str, before: str, behind: str) -> None:
    """Between quotes, as bytes, and encoded."""
    properties = {"token": value}
    if value.strip() and "*" not in value:
        assert value not in without_secrets(f"{before}{value}{behind}", properties)
        assert repr(value)[1:-1] not in without_secrets(f"{value!r}", properties)


def test_what_says_nothing_stays() -> None:
    """Which library it is, and a short value within a word."""
    text = "sql: SQLAlchemy 2.1 of 1 host"
    assert (
        without_secrets(text, {"type": "sql", "port": "1"}) == "sql: SQLAlchemy 2.*** of *** host"
    )
    assert without_secrets("at s3://u:p@x@host/b", {}) == "at s3://***@host/b"
