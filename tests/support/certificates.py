"""The certificates that all tests of a session share, beyond those of the sandbox."""

from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)

from zkconsumer.sandbox import certificates as sandbox
from zkconsumer.sandbox.secured import STORE_PASSWORD

KEY_PASSWORD = "key-secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates(sandbox.Certificates):
    """Files in one folder.

    Attributes:
        stranger: another authority, which signed nothing (PEM).
        client_key: the client's key, encrypted with ``KEY_PASSWORD`` (PEM).
        broker: the broker's certificate and its key (PEM).
    """

    stranger: Path
    client_key: Path
    broker: Path


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Create certificates once for all tests of the session."""
    folder = tmp_path_factory.mktemp("certificates")
    made = Certificates(
        **asdict(sandbox.make_certificates(folder)),
        stranger=folder / "stranger.pem",
        client_key=folder / "client-key.pem",
        broker=folder / "broker.pem",
    )
    trustme.CA().cert_pem.write_to_path(made.stranger)
    client_key = load_pem_private_key(made.client.read_bytes(), None)
    encryption = BestAvailableEncryption(KEY_PASSWORD.encode())
    made.client_key.write_bytes(
        client_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    )
    store = pkcs12.load_pkcs12(made.broker_keys.read_bytes(), STORE_PASSWORD.encode())
    assert store.key is not None
    assert store.cert is not None
    made.broker.write_bytes(
        store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        + store.cert.certificate.public_bytes(Encoding.PEM)
    )
    return made
