"""Numbers and times print as Java prints them, tables are walked as Java and Scala walk them.

``python -m tests.golden.capture_java_numbers`` captures the answers anew.
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
    """What Java said."""
    return json.loads(NUMBERS.read_text())


def test_numbers_have_javas_four_decimals(known: Any) -> None:
    """Also such as lie half-way, are none, or have no end."""
    responses: dict[str, str] = known["fixed"]
    values = {bits: struct.unpack(">d", bytes.fromhex(bits))[0] for bits in responses}
    assert {bits: fixed_4(value) for bits, value in values.items()} == responses
    assert sum(f"{values[bits]:.4f}" != responses[bits] for bits in responses) > 50


def test_times_follow_javas_patterns(known: Any) -> None:
    """What Java refuses is refused."""
    for at_ms, pattern, text in known["dates"]:
        if text == "refused":
            with pytest.raises(ConfigError):
                format_time(at_ms, pattern)
        else:
            assert format_time(at_ms, pattern) == text


@pytest.mark.parametrize("pattern", ["EEE", "MMM", "hh:mm a", "z"])
def test_what_java_would_print_as_words_is_refused(pattern: str) -> None:
    """It depends on where the machine stands."""
    with pytest.raises(ConfigError, match="is not supported"):
        format_time(0, pattern)


def test_tables_are_walked_in_javas_order(known: Any) -> None:
    """Also such as have grown, and with keys of equal hash."""
    for keys, walked in known["properties"]:
        assert table_order(keys) == walked
    assert max(len(keys) for keys, _ in known["properties"]) > 48
    for numbers, walked in known["numbers"]:
        assert list(map(str, mutable_int_map_order(map(int, numbers)))) == walked
    assert max(len(numbers) for numbers, _ in known["numbers"]) > 48
