"""The certificates that all tests of a session share; see ``zkconsumer.sandbox.certificates``."""

import pytest

from zkconsumer.sandbox.certificates import (
    KEY_PASSWORD,
    STORE_PASSWORD,
    Certificates,
    make_certificates,
)

__all__ = ["KEY_PASSWORD", "STORE_PASSWORD", "Certificates", "certificates"]


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Create certificates once for all tests of the session."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))
