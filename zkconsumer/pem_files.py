"""Refuse certificate files that are not PEM, and say how to convert them. Pure."""

from zkconsumer.errors import ConfigError

_JAVAS = (".jks", ".p12", ".pfx", ".keystore", ".truststore")


def require_pem(setting: str, path: str) -> None:
    """Refuse a file that is a Java key store by its name.

    Args:
        setting: the setting that names the file.
        path: the file.

    Raises:
        ConfigError: the name has a key store's suffix; says how to convert it to PEM.
    """
    if path.lower().endswith(_JAVAS):
        raise ConfigError(
            f"{setting} is {path!r}: give a PEM file. Of a JKS store keytool makes one of PKCS12 "
            "(keytool -importkeystore -srckeystore OLD -destkeystore NEW.p12 -deststoretype "
            "PKCS12), and openssl makes PEM of that (openssl pkcs12 -in NEW.p12 -out NEW.pem)"
        )
