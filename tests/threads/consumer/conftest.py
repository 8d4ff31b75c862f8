"""The fixture for consumers with parts in memory, which the unit tests use as well."""

from tests.unit.consumer.conftest import make_consumer

__all__ = ["make_consumer"]
