"""Which files of certificates can be read here, and what to make of the others. Pure."""

from zkconsumer.errors import ConfigError

_JAVAS = (".jks", ".p12", ".pfx", ".keystore", ".truststore")


def require_pem(setting: str, path: str) -> None:
    """Refuse a store of Java's.

    Args:
        setting: that names the file.
        path: the file.

    Raises:
        ConfigError: it is one by its name; says how to turn it into PEM.
    """
    if path.lower().endswith(_JAVAS):
        raise ConfigError(
            f"{setting} is {path!r}: give a PEM file. Of a JKS store keytool makes one of PKCS12 "
            "(keytool -importkeystore -srckeystore OLD -destkeystore NEW.p12 -deststoretype "
            "PKCS12), and openssl makes PEM of that (openssl pkcs12 -in NEW.p12 -out NEW.pem)"
        )
