"""No error reveals secrets of a catalog's properties, on real sockets."""

import traceback
from pathlib import Path

import pyiceberg.catalog
import pytest
from pyiceberg.utils.config import Config

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
def test_a_failing_catalog_reveals_no_secret(
    tmp_path: Path, properties: dict[str, str], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither does the logged traceback, causes included."""
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
