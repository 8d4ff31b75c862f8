"""Messages never contain the secret properties of a catalog."""

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.drain.local.catalog_secrets import without_secrets


@given(st.text(min_size=4), st.text(), st.text())
def test_secret_values_are_removed_raw_and_quoted(value: str, before: str, after: str) -> None:
    """A value is removed as it is and as its ``repr`` shows it."""
    properties = {"token": value}
    if value.strip() and "*" not in value:
        assert value not in without_secrets(f"{before}{value}{after}", properties)
        assert repr(value)[1:-1] not in without_secrets(f"{value!r}", properties)


def test_harmless_values_stay() -> None:
    """The kind of catalog stays, and so does a short value inside a word."""
    text = "sql: SQLAlchemy 2.1 of 1 host"
    assert (
        without_secrets(text, {"type": "sql", "port": "1"}) == "sql: SQLAlchemy 2.*** of *** host"
    )
    assert without_secrets("at s3://u:p@x@host/b", {}) == "at s3://***@host/b"
