"""Each feature row of ``KafkaConsumer`` names a test that runs on exactly its versions."""

from importlib import import_module
from typing import Any

import pytest

from tests.interop.version_matrix import POLL_FEATURES, Cell
from zkconsumer.sandbox import VERSIONS


@pytest.mark.parametrize("feature", list(POLL_FEATURES))
def test_every_row_has_the_versions_of_its_test(feature: str) -> None:
    """A new sandbox version fails here until its cell is filled in."""
    row = POLL_FEATURES[feature]
    assert list(row.cells) == list(VERSIONS)
    test: Any = getattr(import_module(row.module), row.test)
    (versions,) = (
        list(dict.fromkeys(getattr(cell, "values", (cell,))[0] for cell in mark.args[1]))
        for mark in test.pytestmark
        if mark.name == "parametrize" and "version" in mark.args[0]
    )
    assert versions == [name for name, cell in row.cells.items() if cell is Cell.YES]
