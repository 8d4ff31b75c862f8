"""Certificates for tests of TLS."""

from tests.support.certificates import certificates

__all__ = ["certificates"]
