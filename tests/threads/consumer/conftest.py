"""The consumers on parts of paper that unit tests have, too."""

from tests.unit.consumer.conftest import make

__all__ = ["make"]
