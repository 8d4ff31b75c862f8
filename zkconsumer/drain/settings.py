"""Checks the settings of a drain, before anything is started. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from zkconsumer.drain.decode_settings import DecodeSettings
from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.table_name import DEFAULT_CATALOG, DEFAULT_TABLE, TableName, refuse_hdfs
from zkconsumer.errors import ConfigError
from zkconsumer.spark.options import CommitTarget, SourceOptions, source_options

Format = Literal["parquet", "json", "delta", "iceberg", "kafka"]
FORMATS: tuple[str, ...] = get_args(Format)

MAX_OFFSETS_PER_BATCH = 5_000_000
INTERVAL_MS = 60_000
_TRIES_ONCE = 5
_TRIES_CONTINUOUS = 60
"""The number of attempts, a second apart, while brokers do not respond: they may be restarting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainSettings:
    """The settings of one drain.

    Attributes:
        path: the path of the landing, on any file system that the engine supports. With the format
            ``kafka`` it holds only the drain's own files.
        zookeeper: the cluster's ZooKeeper, ``host1:port1,host2:port2/chroot``.
        bootstrap_servers: brokers, instead of ZooKeeper or in addition to it.
        topics: the topics to drain, by name.
        topics_pattern: a Java regular expression that matches whole names, instead of ``topics``.
        format: the format of the landing.
        starting: ``earliest``, ``latest``, ``group`` or offsets as JSON.
        group: the group to which its positions are committed.
        commit_offsets_to: the storage of these offsets; None: ZooKeeper if there is a group.
        allow_live_group: whether to commit even if the group has live members.
        fail_on_data_loss: whether to stop if logs lost offsets before they could be landed.
        once: whether to end at the log ends as of the start of the run.
        max_offsets_per_batch: the approximate maximum size of a batch.
        interval_ms: the pause when everything is landed.
        options: further options of the source, such as ``kafka.*`` and ``minPartitions``.
        target_bootstrap_servers: brokers of the cluster to mirror to, with the format ``kafka``.
        target_options: for the format ``kafka``, options of Spark's Kafka sink; for ``delta``,
            storage options of ``deltalake``; for ``iceberg``, catalog properties of ``pyiceberg``.
        catalog: for ``iceberg``, the catalog's name in pyiceberg's configuration; None for the
            drain's own catalog at its path, or, if there are ``target_options``, the default one.
        table: for ``iceberg``, the table's namespace and name, separated by a dot; None for
            ``kafka.messages``.
        decode: the settings of decoding; None: values are not decoded.
    """

    path: str
    zookeeper: str | None = None
    bootstrap_servers: str | None = None
    topics: tuple[str, ...] = ()
    topics_pattern: str | None = None
    format: str = "parquet"
    starting: str = "earliest"
    group: str | None = None
    commit_offsets_to: CommitTarget | None = None
    allow_live_group: bool = False
    fail_on_data_loss: bool = True
    once: bool = True
    max_offsets_per_batch: int = MAX_OFFSETS_PER_BATCH
    interval_ms: int = INTERVAL_MS
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    target_bootstrap_servers: str | None = None
    target_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    catalog: str | None = None
    table: str | None = None
    decode: DecodeSettings | None = None

    def checked(self) -> SourceOptions:
        """Parse and check the source's options.

        Raises:
            ConfigError: a setting is missing, malformed, or contradicts another.
        """
        if self.format not in FORMATS:
            raise ConfigError(
                f"--format is {self.format!r}: it must be one of {', '.join(FORMATS)}"
            )
        if not self.path.strip():
            raise ConfigError("--to (or --state) is empty: give a path")
        if self.zookeeper is None and self.bootstrap_servers is None:
            raise ConfigError("no cluster is given: set --zookeeper or --bootstrap-servers")
        if (self.format == "kafka") != (self.target_bootstrap_servers is not None):
            raise ConfigError(
                "--target-bootstrap-servers and --to kafka go together: give both or none"
            )
        self._check_table()
        for flag, value in (
            ("--max-offsets-per-batch", self.max_offsets_per_batch),
            ("--interval-ms", self.interval_ms),
        ):
            if value < 1:
                raise ConfigError(f"{flag} is {value}: it must be 1 or more")
        taken = sorted(_TAKEN.keys() & {name.lower() for name in self.options})
        if taken:
            raise ConfigError(f"option {taken[0]}: a drain sets it itself; use {_TAKEN[taken[0]]}")
        if self.starting == "group" and self.group is None:
            raise ConfigError("--from group requires --group")
        if self.decode is not None:
            self.decode.check(self.format, () if self.topics_pattern is not None else self.topics)
        return source_options(self.source())

    def identity(self, drain_id: str, created_ms: int) -> DrainIdentity:
        """Return the drain's identity according to these settings."""
        what, value = self._subscription()
        return DrainIdentity(
            id=drain_id,
            created_ms=created_ms,
            cluster=self.zookeeper or self.bootstrap_servers or "",
            subscription=f"{what}={value}",
            starting=self.starting,
            group=self.group,
            format=self.format,
            target=self.target_bootstrap_servers or self.table_name().target,
            decode=None if self.decode is None else self.decode.text(),
        )

    def table_name(self) -> TableName:
        """Return the table in which an Iceberg drain lands messages."""
        is_own = self.catalog is None and (self.format != "iceberg" or not self.target_options)
        return TableName(
            None if is_own else self.catalog or DEFAULT_CATALOG, self.table or DEFAULT_TABLE
        )

    def source(self) -> dict[str, str]:
        """Return the options of the source, with the topics and the group."""
        what, value = self._subscription()
        group = {} if self.group is None else {"group.id": self.group}
        return {
            **self.reading(),
            **group,
            what: value,
            "startingOffsets": self.starting,
            "commitOffsetsTo": self._target(),
            "allowLiveGroup": _flag(given=self.allow_live_group),
        }

    def reading(self) -> dict[str, str]:
        """Return the options of the source, without topics and group."""
        address = {
            "zookeeper.connect": self.zookeeper,
            "kafka.bootstrap.servers": self.bootstrap_servers,
        }
        return {
            "fetchOffset.numRetries": str(_TRIES_ONCE if self.once else _TRIES_CONTINUOUS),
            "fetchOffset.retryIntervalMs": "1000",
            **self.options,
            **{name: value for name, value in address.items() if value is not None},
            "failOnDataLoss": _flag(given=self.fail_on_data_loss),
        }

    def _check_table(self) -> None:
        if self.format == "iceberg":
            refuse_hdfs(self.path)
        for flag, value in (("--catalog", self.catalog), ("--table", self.table)):
            if value is not None and self.format != "iceberg":
                raise ConfigError(f"{flag} requires --format iceberg, but it is {self.format}")
        if self.catalog is not None and (not self.catalog.strip() or ":" in self.catalog):
            raise ConfigError(f"--catalog is {self.catalog!r}: give a name without a colon")
        if self.table is not None and not all(self.table.rpartition(".")[::2]):
            raise ConfigError(f"--table is {self.table!r}: give it as NAMESPACE.NAME")

    def _target(self) -> CommitTarget:
        if self.commit_offsets_to is not None:
            return self.commit_offsets_to
        if self.group is None:
            return "none"
        return "kafka" if self.zookeeper is None else "zookeeper"

    def _subscription(self) -> tuple[str, str]:
        if self.topics and self.topics_pattern is not None:
            raise ConfigError("--topics and --topics-pattern can't be combined: give one of them")
        if self.topics_pattern is not None:
            return "subscribePattern", self.topics_pattern
        if not self.topics:
            raise ConfigError("no topic is given: set --topics or --topics-pattern")
        return "subscribe", ",".join(sorted(set(self.topics)))


_TAKEN = {
    "subscribe": "--topics",
    "subscribepattern": "--topics-pattern",
    "assign": "--topics",
    "startingoffsets": "--from",
    "endingoffsets": "--once",
    "group.id": "--group",
    "kafka.group.id": "--group",
    "commitoffsetsto": "--commit-offsets-to",
    "allowlivegroup": "--allow-live-group",
    "failondataloss": "--no-fail-on-data-loss",
    "maxoffsetspertrigger": "--max-offsets-per-batch",
    "zookeeper.connect": "--zookeeper",
    "kafka.bootstrap.servers": "--bootstrap-servers",
    "includeheaders": "nothing: brokers of this era have no headers",
}


def _flag(*, given: bool) -> str:
    return "true" if given else "false"
