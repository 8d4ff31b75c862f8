"""The table of Kafka versions that a sandbox can run."""

import pytest

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.versions import DEFAULT_KAFKA, VERSIONS, kafka_version


def test_every_promised_version_is_there() -> None:
    """Each of the nine releases that the project is tested with can be chosen by name."""
    assert list(VERSIONS) == [
        "0.8.0",
        "0.8.1.1",
        "0.8.2.2",
        "0.9.0.1",
        "0.10.2.2",
        "0.11.0.3",
        "1.1.1",
        "2.8.2",
        "3.9.1",
    ]
    assert DEFAULT_KAFKA in VERSIONS


def test_a_version_names_its_artifact() -> None:
    """The Maven coordinate has the Scala version that the release was built with."""
    assert kafka_version("0.8.2.2").coordinate == "org.apache.kafka:kafka_2.10:0.8.2.2"


def test_an_unknown_version_is_refused_with_the_known_ones() -> None:
    """An unknown version is refused with a list of the known ones."""
    with pytest.raises(SandboxError, match=r"no Kafka 0\.7\.2: choose one of 0\.8\.0, .*3\.9\.1"):
        kafka_version("0.7.2")
