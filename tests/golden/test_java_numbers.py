"""Numbers and times are formatted as in Java, tables iterated as in Java and Scala.

``python -m tests.golden.capture_java_numbers`` captures the results again.
"""

import json
import struct
from typing import Any

import pytest

from tests.golden.capture_java_numbers import NUMBERS
from zkconsumer.assignment.java_order import mutable_int_map_order
from zkconsumer.cli.formats.java_text import fixed_4, format_time, table_order
from zkconsumer.errors import ConfigError


@pytest.fixture(scope="module")
def known() -> Any:
    """Return Java's results."""
    return json.loads(NUMBERS.read_text())


def test_numbers_have_javas_four_decimals(known: Any) -> None:
    """The texts agree, including half-way values, NaN and infinity."""
    responses: dict[str, str] = known["fixed"]
    values = {bits: struct.unpack(">d", bytes.fromhex(bits))[0] for bits in responses}
    assert {bits: fixed_4(value) for bits, value in values.items()} == responses
    assert sum(f"{values[bits]:.4f}" != responses[bits] for bits in responses) > 50


def test_times_follow_javas_patterns(known: Any) -> None:
    """The texts agree, and patterns that Java refuses are refused."""
    for at_ms, pattern, text in known["dates"]:
        if text == "refused":
            with pytest.raises(ConfigError):
                format_time(at_ms, pattern)
        else:
            assert format_time(at_ms, pattern) == text


@pytest.mark.parametrize("pattern", ["EEE", "MMM", "hh:mm a", "z"])
def test_patterns_with_names_in_words_are_refused(pattern: str) -> None:
    """Such names depend on the machine's locale."""
    with pytest.raises(ConfigError, match="is not supported"):
        format_time(0, pattern)


def test_tables_are_iterated_in_javas_order(known: Any) -> None:
    """The orders agree, including tables that have grown and keys of equal hash."""
    for keys, walked in known["properties"]:
        assert table_order(keys) == walked
    assert max(len(keys) for keys, _ in known["properties"]) > 48
    for numbers, walked in known["numbers"]:
        assert list(map(str, mutable_int_map_order(map(int, numbers)))) == walked
    assert max(len(numbers) for numbers, _ in known["numbers"]) > 48
