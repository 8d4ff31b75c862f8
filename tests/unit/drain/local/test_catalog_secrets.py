"""No message has what a catalog's properties say."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.drain.local.catalog_secrets import without_secrets


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
