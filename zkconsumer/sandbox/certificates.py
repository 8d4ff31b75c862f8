"""Creates certificates of a private CA, for clients (PEM) and brokers (PKCS12).

Java reads PKCS12 stores even if its own tools did not create them.
"""

from dataclasses import dataclass
from pathlib import Path

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.secured import STORE_PASSWORD

try:
    import trustme
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        load_pem_private_key,
        pkcs12,
    )
except ImportError as error:
    raise SandboxError(
        "the sandbox makes its certificates with trustme: pip install 'zkconsumer[sandbox]'"
    ) from error


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files in one folder.

    Attributes:
        authority: the authority that signed the certificates of broker and client (PEM).
        client: the client's certificate and its key (PEM).
        broker_keys: the broker's certificate, for 127.0.0.1 and localhost, and its key (PKCS12).
        broker_trust: the authorities that the broker trusts (PKCS12).
    """

    authority: Path
    client: Path
    broker_keys: Path
    broker_trust: Path


def make_certificates(folder: Path) -> Certificates:
    """Create all files, in an existing folder."""
    authority = trustme.CA()
    made = Certificates(
        authority=folder / "authority.pem",
        client=folder / "client.pem",
        broker_keys=folder / "broker-keys.p12",
        broker_trust=folder / "broker-trust.p12",
    )
    authority.cert_pem.write_to_path(made.authority)
    client = authority.issue_cert("client@example.org")
    client.private_key_and_cert_chain_pem.write_to_path(made.client)
    made.broker_keys.write_bytes(_key_store(authority.issue_cert("127.0.0.1", "localhost")))
    root = x509.load_pem_x509_certificate(authority.cert_pem.bytes())
    made.broker_trust.write_bytes(
        pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(root, b"authority")],
            BestAvailableEncryption(STORE_PASSWORD.encode()),
        )
    )
    return made


def _key_store(leaf: trustme.LeafCert) -> bytes:
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    assert isinstance(key, EllipticCurvePrivateKey)
    chain = [x509.load_pem_x509_certificate(pem.bytes()) for pem in leaf.cert_chain_pems]
    return pkcs12.serialize_key_and_certificates(
        b"broker", key, chain[0], chain[1:], BestAvailableEncryption(STORE_PASSWORD.encode())
    )
