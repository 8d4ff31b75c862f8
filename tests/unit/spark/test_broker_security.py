"""Options that say how to get into brokers, in each spelling."""

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


def test_both_spellings_come_to_the_same() -> None:
    """With the prefix or without; what is not given leaves brokers that anybody may use."""
    found = read_broker_security(SPARKS)
    assert found == read_broker_security(PYTHONS)
    assert found == read_broker_security(
        {f"kafka.{key}": argument for key, argument in PYTHONS.items()}
    )
    assert (found.protocol, found.sasl_username, found.sasl_password) == ("SASL_SSL", "me", SECRET)
    assert found.tls.cafile == "/etc/ca.pem"
    assert read_broker_security(LEAST) == PLAINTEXT


@pytest.mark.parametrize("given", [SPARKS, PYTHONS], ids=["spark", "kafka-python"])
def test_a_query_is_told_how_to_get_in(given: dict[str, str]) -> None:
    """Without a note that something had no effect; tasks are sent it, and nothing shows it."""
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
    """By its name, and without a secret."""
    with pytest.raises(ConfigError, match=reported) as caught:
        source_options({**LEAST, **given})
    assert SECRET not in str(caught.value)


def test_other_options_are_others() -> None:
    """Whatever they are called."""
    assert is_of_security("kafka.sasl.jaas.config")
    assert is_of_security("ssl_cafile")
    assert not any(map(is_of_security, LEAST))
