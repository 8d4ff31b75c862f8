"""The identity of a drain, stored at its path and compared by each run. Pure."""

from dataclasses import dataclass, fields
from typing import Self

from zkconsumer.drain.fields import Fields, to_bytes
from zkconsumer.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainIdentity:
    """The settings of a drain that must not change between two runs on the same path.

    Attributes:
        id: the drain's id, also recorded in logs of targets, such as a Delta table's.
        created_ms: the creation time in ms since the epoch.
        cluster: its source: a ZooKeeper connect string, or the addresses of brokers.
        subscription: the option and its value.
        starting: start offsets: ``earliest``, ``latest``, ``group`` or offsets as JSON.
        group: the group whose offsets it commits; None if there is no group.
        format: the format of the landing: ``parquet``, ``json``, ``delta``, ``iceberg`` or
            ``kafka``.
        target: the place of the landing; None: the path itself. For an Iceberg drain see
            ``TableName.target``.
        decode: how values become columns; None if not decoded.
    """

    id: str
    created_ms: int
    cluster: str
    subscription: str
    starting: str
    group: str | None
    format: str
    target: str | None = None
    decode: str | None = None

    def to_bytes(self) -> bytes:
        """Serialize the identity."""
        return to_bytes({name.name: getattr(self, name.name) for name in fields(self)})

    @classmethod
    def from_bytes(cls, file: str, data: bytes) -> Self:
        """Read an identity.

        Raises:
            DrainError: the file is damaged.
        """
        stored = Fields.parse(file, data)
        return cls(
            id=stored.text("id"),
            created_ms=stored.integer("created_ms"),
            cluster=stored.text("cluster"),
            subscription=stored.text("subscription"),
            starting=stored.text("starting"),
            group=stored.optional_text("group"),
            format=stored.text("format"),
            target=stored.optional_text("target"),
            decode=stored.added_text("decode"),
        )


_FLAGS = {
    "subscription": "--topics or --topics-pattern",
    "starting": "--from",
    "group": "--group",
    "format": "--format",
    "target": "--target-bootstrap-servers, or --catalog and --table",
    "decode": "--decode and --schema-id",
}


def refuse_another(path: str, found: DrainIdentity, wanted: DrainIdentity) -> None:
    """Refuse settings that differ from those of the drain at the path.

    Raises:
        ConfigError: the identities differ; the message names the difference.
    """
    for name, flag in _FLAGS.items():
        was, now = getattr(found, name), getattr(wanted, name)
        if was != now:
            raise ConfigError(
                f"{flag}: {path} holds a drain with {_shown(was)}, but now it is {_shown(now)}: "
                "give the former value, or drain to another path"
            )
    if not _hosts(found.cluster) & _hosts(wanted.cluster):
        raise ConfigError(
            f"--zookeeper: {path} holds a drain of the cluster at {found.cluster}, which has no "
            f"address in common with {wanted.cluster}: offsets of another cluster mean other "
            "messages. If it is the same cluster, add one of its old addresses to the new ones"
        )


def _shown(value: str | None) -> str:
    return "none" if value is None else repr(value)


def _hosts(cluster: str) -> set[str]:
    """Return the addresses, each with the chroot if there is one."""
    hosts, slash, chroot = cluster.partition("/")
    return {host.strip() + (slash + chroot).rstrip("/") for host in hosts.split(",")}
