"""Options for TLS and SASL, in the spelling of Spark and of kafka-python."""

import pickle

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.net.security import PLAINTEXT
from zkconsumer.spark.address import read_address
from zkconsumer.spark.broker_security import is_of_security, read_broker_security
from zkconsumer.spark.options import source_options

SECRET = "hush-hush"
LEAST = {"subscribe": "t", "kafka.bootstrap.servers": "b:1"}
SPARKS = {
    "kafka.security.protocol": "SASL_SSL",
    "kafka.ssl.truststore.location": "/etc/ca.pem",
    "kafka.ssl.truststore.type": "PEM",
    "kafka.sasl.mechanism": "SCRAM-SHA-512",
    "kafka.sasl.jaas.config": (
        f'org.apache.kafka.common.security.scram.ScramLoginModule required username="me" '
        f'password="{SECRET}";'
    ),
}
PYTHONS = {
    "security_protocol": "SASL_SSL",
    "ssl_cafile": "/etc/ca.pem",
    "sasl_mechanism": "SCRAM-SHA-512",
    "sasl_plain_username": "me",
    "sasl_plain_password": SECRET,
}


def test_both_spellings_give_the_same_settings() -> None:
    """Both spellings give the same settings, with or without the ``kafka.`` prefix.

    Without any, brokers are connected to without TLS and SASL.
    """
    found = read_broker_security(SPARKS)
    assert found == read_broker_security(PYTHONS)
    assert found == read_broker_security(
        {f"kafka.{key}": argument for key, argument in PYTHONS.items()}
    )
    assert (found.protocol, found.sasl_username, found.sasl_password) == ("SASL_SSL", "me", SECRET)
    assert found.tls.cafile == "/etc/ca.pem"
    assert read_broker_security(LEAST) == PLAINTEXT


@pytest.mark.parametrize("given", [SPARKS, PYTHONS], ids=["spark", "kafka-python"])
def test_security_settings_reach_the_tasks(given: dict[str, str]) -> None:
    """Security settings reach the tasks without a note, and no ``repr`` shows the secret."""
    options = source_options({**LEAST, **given})
    assert options.address.broker_security == read_broker_security(given)
    assert not [note for note in options.notes if "ss" in note]
    address = pickle.loads(pickle.dumps(read_address({**LEAST, **given})))
    assert address.broker_security == read_broker_security(given)
    assert SECRET not in repr(options) + repr(address)


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"kafka.ssl.truststore.location": "a.jks"}, r"kafka\.ssl\.truststore\.location.*keytool"),
        ({"kafka.ssl.trustore.location": "a"}, r"kafka\.ssl\.trustore\.location is not known"),
        ({"kafka.security.protocol": "TLS"}, r"kafka\.security\.protocol.*SASL_SSL"),
        ({"kafka.security.protocol": "SASL_SSL"}, r"sasl\.mechanism.*SCRAM-SHA-256"),
        ({"kafka.ssl.cafile": "a", "ssl_cafile": "b"}, "ssl_cafile and another name"),
        ({**SPARKS, "kafka.sasl.kerberos.keytab": "k"}, r"sasl_kerberos_keytab.*give GSSAPI"),
    ],
)
def test_what_makes_no_sense_is_refused_on_the_driver(given: dict[str, str], reported: str) -> None:
    """A wrong setting is refused on the driver by its name, and without the secret."""
    with pytest.raises(ConfigError, match=reported) as caught:
        source_options({**LEAST, **given})
    assert SECRET not in str(caught.value)


def test_only_security_options_are_recognized() -> None:
    """Only security options are recognized as such."""
    assert is_of_security("kafka.sasl.jaas.config")
    assert is_of_security("ssl_cafile")
    assert not any(map(is_of_security, LEAST))
