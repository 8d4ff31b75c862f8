"""The table of Kafka versions of the sandbox, with the requirements of each.

Every difference between versions is a field here; other code reads the field, never the version
number.
"""

from dataclasses import dataclass

from zkconsumer.errors import SandboxError

DEFAULT_KAFKA = "0.8.2.2"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaVersion:
    """The requirements of one release's brokers, and of the ZooKeeper shipped with them.

    Attributes:
        name: the release, such as ``0.8.2.2``.
        scala: the Scala version in the name of its artifact.
        extra: Maven coordinates (``group:artifact:version``) beyond its declared dependencies,
            without dependencies of their own.
        excluded: declared dependencies (``group:artifact``) that repositories no longer have.
        jvm_flags: flags that a Java newer than the release needs.
        listeners: whether the broker has ``listeners``; before 0.9 it had ``host.name`` and
            ``port``.
        advertises: whether the broker can register another address than it listens on (0.8.1 and
            later).
        deletes_topics: whether the controller executes ``/admin/delete_topics`` (0.8.1 and later).
        topic_config: whether topics have a node in ``/config/topics`` (0.8.1 and later).
        coordinates_offsets: whether the broker keeps offsets in a topic (0.8.2 and later).
        transactions: whether the broker has a transaction log, which must fit the number of
            brokers.
        securities: how clients can authenticate to its brokers: ``tls``, ``kerberos`` (0.9 and
            later), ``scram`` (0.10.2 and later), ``oauth`` (2.0 and later).
        zookeeper_opens_early: whether its ZooKeeper opens its port before it can serve (3.4.10 and
            later; see ``sandbox.zookeeper``).
        zookeeper_4lw: whether its ZooKeeper requires allowing four-letter words and disabling the
            admin server (ZooKeeper 3.5 and later).
    """

    name: str
    scala: str
    extra: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    jvm_flags: tuple[str, ...] = ()
    listeners: bool = True
    advertises: bool = True
    deletes_topics: bool = True
    topic_config: bool = True
    coordinates_offsets: bool = True
    transactions: bool = True
    securities: tuple[str, ...] = ("tls", "kerberos", "scram", "oauth")
    zookeeper_opens_early: bool = False
    zookeeper_4lw: bool = False

    @property
    def coordinate(self) -> str:
        """The Maven coordinate of the broker itself."""
        return f"org.apache.kafka:kafka_{self.scala}:{self.name}"


_LOST_OF_LOG4J = ("com.sun.jmx:jmxri", "com.sun.jdmk:jmxtools", "javax.jms:jms")
# These releases leave the logging library to their start scripts; their ZooKeeper needs one.
_LOG4J = ("log4j:log4j:1.2.17", "org.slf4j:slf4j-log4j12:1.7.25")
# The snappy of these loads its native library through an API that Java 16 closed. Java 8 lacks the
# option that opens it.
_SNAPPY_DOOR = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
)
_JAXB = ("javax.xml.bind:jaxb-api:2.3.1",)  # Java 11 removed it from the platform

VERSIONS = {
    version.name: version
    for version in (
        KafkaVersion(
            name="0.8.0",
            scala="2.10",
            securities=(),
            excluded=_LOST_OF_LOG4J,
            jvm_flags=_SNAPPY_DOOR,
            listeners=False,
            advertises=False,
            deletes_topics=False,
            topic_config=False,
            coordinates_offsets=False,
            transactions=False,
        ),
        KafkaVersion(
            name="0.8.1.1",
            scala="2.10",
            securities=(),
            excluded=_LOST_OF_LOG4J,
            jvm_flags=_SNAPPY_DOOR,
            listeners=False,
            coordinates_offsets=False,
            transactions=False,
        ),
        KafkaVersion(
            name="0.8.2.2", scala="2.10", listeners=False, transactions=False, securities=()
        ),
        KafkaVersion(
            name="0.9.0.1", scala="2.11", transactions=False, securities=("tls", "kerberos")
        ),
        KafkaVersion(
            name="0.10.2.2",
            scala="2.11",
            extra=_JAXB,
            # Its version parser fails on a version without a dot, such as "17".
            jvm_flags=("-Djava.specification.version=1.8",),
            transactions=False,
            securities=("tls", "kerberos", "scram"),
        ),
        KafkaVersion(
            name="0.11.0.3",
            scala="2.11",
            extra=_JAXB,
            securities=("tls", "kerberos", "scram"),
            zookeeper_opens_early=True,
        ),
        KafkaVersion(
            name="1.1.1",
            scala="2.12",
            extra=_LOG4J,
            securities=("tls", "kerberos", "scram"),
            zookeeper_opens_early=True,
        ),
        KafkaVersion(
            name="2.8.2",
            scala="2.13",
            extra=_LOG4J,
            zookeeper_opens_early=True,
            zookeeper_4lw=True,
        ),
        KafkaVersion(
            name="3.9.1",
            scala="2.13",
            # The command line tools moved to a separate artifact.
            extra=(
                "org.apache.kafka:kafka-tools:3.9.1",
                "org.apache.kafka:kafka-tools-api:3.9.1",
                "ch.qos.reload4j:reload4j:1.2.25",
                "org.slf4j:slf4j-reload4j:1.7.36",
            ),
            zookeeper_opens_early=True,
            zookeeper_4lw=True,
        ),
    )
}
"""The supported versions by name, oldest first."""


def kafka_version(name: str) -> KafkaVersion:
    """Return the table's row for a release.

    Raises:
        SandboxError: the release is not supported; the message lists those that are.
    """
    try:
        return VERSIONS[name]
    except KeyError:
        known = ", ".join(VERSIONS)
        raise SandboxError(f"the sandbox has no Kafka {name}: choose one of {known}") from None
