"""What counts as a decimal number in text that others wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.digits import is_decimal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, True) for text in ("0", "007", "999")),
        *(
            (text, False)
            for text in ("1234", "", "-1", "+1", "1_0", " 1", "1.0", "\u00b2", "\u0663")
        ),
    ],
)
def test_few_ascii_digits_are_a_number(text: str, expected: bool) -> None:
    """Neither signs, nor digits of other scripts, nor more digits than are allowed."""
    assert is_decimal(text, 3) is expected


@given(st.text(alphabet="0123456789\u00b2\u0663-_ ", max_size=6), st.integers(1, 6))
def test_what_is_a_number_can_be_read(text: str, most_digits: int) -> None:
    """``int`` raises for none of them."""
    if is_decimal(text, most_digits):
        assert 0 <= int(text) < 10**most_digits
