"""The options of a query, read and checked once, on the driver, before any task starts. Pure.

Names, defaults and refusals are those of Spark's Kafka source; the table is ``option_table``. Case
does not matter in names. Source: Spark 4.2 ``KafkaSourceProvider``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

from zkconsumer.errors import ConfigError
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.nearest import nearest
from zkconsumer.spark.address import ClusterAddress, read_address
from zkconsumer.spark.broker_security import is_of_security
from zkconsumer.spark.kafka_options import (
    ALIASES,
    EFFECTIVE,
    OFFSETS_STORAGE,
    PREFIX,
    REFUSED,
    check_kafka,
    read_range_settings,
)
from zkconsumer.spark.offset_json import INT_MAX, LONG_MAX
from zkconsumer.spark.offset_limits import (
    ENDING,
    STARTING,
    Exact,
    NamedLimit,
    OffsetLimit,
    check_order,
    read_limit,
)
from zkconsumer.spark.option_table import BY_NAME, DEFAULTS
from zkconsumer.spark.option_values import (
    read_bool,
    read_choice,
    read_duration_ms,
    read_int,
    read_long,
)
from zkconsumer.spark.subscription import Subscription, read_subscription
from zkconsumer.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from zkconsumer.zk.paths import GroupPaths

CommitTarget: TypeAlias = Literal["none", "zookeeper", "kafka", "both"]
Storage: TypeAlias = Literal["zookeeper", "kafka", "both"]
_TARGETS: tuple[CommitTarget, ...] = get_args(CommitTarget)
_STREAMING_ONLY = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """All options of one query; made by ``source_options``.

    ``starting`` and ``ending`` have the defaults of the kind of query only after ``for_batch`` or
    ``for_streaming``, which also refuse what only that kind refuses.

    Attributes:
        address: where the cluster is.
        subscription: the topics or partitions to read.
        starting: the start of the query.
        ending: the end of the query; not used by a streaming query.
        starting_given: whether an option gives the start.
        max_offsets_per_trigger: the maximum number of offsets in a stream's batch; None: no limit.
        min_offsets_per_trigger: the minimum number of offsets for a batch; None: no limit.
        max_trigger_delay_ms: the time after the last batch at which that minimum no longer counts.
        min_partitions: the approximate minimum number of tasks; None: one per partition.
        max_records_per_partition: the maximum number of offsets of a task; None: no limit.
        include_headers: whether there is a column ``headers``.
        retries: the number of attempts to look up offsets, at least 1.
        retry_interval_ms: the pause between attempts.
        group_id: the group whose offsets are read or written.
        commit_offsets_to: the storage to commit a stream's progress to.
        group_offsets_in: the storage of the group's offsets for ``startingOffsets=group``.
        allow_live_group: whether to commit even if the group has live members.
        notes: texts to be logged as warnings: ignored options, and the reasons.
        ranges: the settings for tasks that read; the driver uses their client id, time-outs,
            isolation and ``fail_on_data_loss``.
    """

    address: ClusterAddress
    subscription: Subscription
    starting: OffsetLimit
    ending: OffsetLimit
    starting_given: bool
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    min_partitions: int | None
    max_records_per_partition: int | None
    include_headers: bool
    retries: int
    retry_interval_ms: int
    group_id: str | None
    commit_offsets_to: CommitTarget
    group_offsets_in: Storage
    allow_live_group: bool
    notes: tuple[str, ...]
    ranges: RangeSettings
    _given: frozenset[str]

    def for_batch(self) -> "SourceOptions":
        """Return the options of a batch query, by default from the earliest to the latest offset.

        Raises:
            ConfigError: an option makes no sense in a batch query.
        """
        self._refuse_start_in_batch()
        self._refuse_end_in_batch()
        if self.commit_offsets_to != "none":
            raise ConfigError(
                f"commitOffsetsTo is {self.commit_offsets_to}: a batch query does not commit "
                "offsets, since it never learns whether its result was kept; leave it out, or "
                "use a streaming query with Trigger.AvailableNow"
            )
        check_order(self.starting, self.ending)
        ignored = tuple(
            f"option {name} is ignored in batch queries"
            for name in _STREAMING_ONLY
            if name.lower() in self._given
        )
        return replace(self, notes=self.notes + ignored)

    def for_streaming(self) -> "SourceOptions":
        """Return the options of a streaming query, by default from the latest offset on.

        Raises:
            ConfigError: an option makes no sense in a streaming query.
        """
        for name in ENDING.all:
            if name.lower() in self._given:
                raise ConfigError(f"{name}: a streaming query has no end; leave it out")
        return replace(self, starting=self.starting if self.starting_given else NamedLimit.LATEST)

    def _refuse_start_in_batch(self) -> None:
        if self.starting == NamedLimit.LATEST:
            raise ConfigError(
                f"{STARTING.offsets} is latest: a batch query can't start there, since there is "
                "nothing yet to read; give earliest, group or offsets"
            )
        if isinstance(self.starting, Exact):
            for tp, offset in self.starting.offsets.items():
                if offset == LATEST_TIMESTAMP:
                    raise ConfigError(
                        f"{STARTING.offsets} of {tp} is -1 (latest): a batch query can't start "
                        "there"
                    )

    def _refuse_end_in_batch(self) -> None:
        if self.ending in (NamedLimit.EARLIEST, NamedLimit.GROUP):
            raise ConfigError(
                f"{ENDING.offsets} is {self.ending}: a batch query can't end there; give latest or "
                "offsets"
            )
        if isinstance(self.ending, Exact):
            for tp, offset in self.ending.offsets.items():
                if offset == EARLIEST_TIMESTAMP:
                    raise ConfigError(
                        f"{ENDING.offsets} of {tp} is -2 (earliest): a batch query can't end there"
                    )


def source_options(options: Mapping[str, str]) -> SourceOptions:
    """Read and check the options of a query, as far as batch and streaming queries share them.

    Raises:
        ConfigError: an option is wrong; names it and the allowed values.
    """
    given = by_lower_case(options)
    subscription = read_subscription(given)
    notes = (
        *_unknown(given),
        *check_kafka(given, REFUSED, EFFECTIVE, "here"),
        *_without_effect(given),
    )
    address = read_address(given)
    fail_on_data_loss = read_bool("failOnDataLoss", _text(given, "failOnDataLoss"))
    poll_timeout_ms = _long(given, "kafkaConsumer.pollTimeoutMs", low=1)
    latest_if_none = _latest_if_none(given)
    starting = read_limit(STARTING, given, latest_if_none=latest_if_none)
    ending = read_limit(ENDING, given, latest_if_none=latest_if_none)
    target = read_choice("commitOffsetsTo", _text(given, "commitOffsetsTo"), _TARGETS)
    group_id = given.get("group.id")
    _check_group(group_id, target, starting, address)
    minimum = _optional_long(given, "minOffsetsPerTrigger", low=0)
    maximum = _optional_long(given, "maxOffsetsPerTrigger", low=1)
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ConfigError(
            f"minOffsetsPerTrigger is {minimum}, more than maxOffsetsPerTrigger, which is {maximum}"
        )
    return SourceOptions(
        address=address,
        subscription=subscription,
        starting=NamedLimit.EARLIEST if starting is None else starting,
        ending=NamedLimit.LATEST if ending is None else ending,
        starting_given=starting is not None,
        max_offsets_per_trigger=maximum,
        min_offsets_per_trigger=minimum,
        max_trigger_delay_ms=read_duration_ms("maxTriggerDelay", _text(given, "maxTriggerDelay")),
        min_partitions=_optional_long(given, "minPartitions", low=1, high=INT_MAX),
        max_records_per_partition=_optional_long(given, "maxRecordsPerPartition", low=1),
        include_headers=read_bool("includeHeaders", _text(given, "includeHeaders")),
        retries=read_int("fetchOffset.numRetries", _text(given, "fetchOffset.numRetries"), low=1),
        retry_interval_ms=_long(given, "fetchOffset.retryIntervalMs", low=0),
        group_id=group_id,
        commit_offsets_to=target,
        group_offsets_in=_group_offsets_in(given, target, address),
        allow_live_group=read_bool("allowLiveGroup", _text(given, "allowLiveGroup")),
        notes=notes,
        ranges=read_range_settings(
            given, poll_timeout_ms=poll_timeout_ms, fail_on_data_loss=fail_on_data_loss
        ),
        _given=frozenset(given),
    )


def by_lower_case(options: Mapping[str, str]) -> dict[str, str]:
    """Return the options by names in lower case, with aliases replaced."""
    given: dict[str, str] = {}
    for name, value in options.items():
        if not isinstance(value, str):
            raise ConfigError(f"{name} is {value!r}: the value of an option is a text")
        lower = name.lower()
        lower = ALIASES.get(lower, lower)
        if given.setdefault(lower, value) != value:
            # Without the values, which may be secrets.
            raise ConfigError(f"{name} says something else than {lower}: give one of them")
    return given


def _unknown(given: Mapping[str, str]) -> list[str]:
    """Return notes on unknown names: Spark accepts any, so typos would go unnoticed."""
    notes = []
    for name in sorted(given):
        if name.startswith(PREFIX) or name in BY_NAME or is_of_security(name):
            continue
        near = nearest(name, BY_NAME)
        hint = f" (did you mean {BY_NAME[near[0]].name}?)" if near else ""
        notes.append(f"option {name} is not known and is ignored{hint}")
    return notes


def _without_effect(given: Mapping[str, str]) -> list[str]:
    return [
        f"option {BY_NAME[name].name} is accepted but has no effect here"
        for name in sorted(given)
        if name in BY_NAME and BY_NAME[name].inert
    ]


def _text(given: Mapping[str, str], name: str) -> str:
    return given.get(name.lower(), DEFAULTS[name])


def _long(given: Mapping[str, str], name: str, *, low: int) -> int:
    return read_long(name, _text(given, name), low=low)


def _optional_long(
    given: Mapping[str, str], name: str, *, low: int, high: int = LONG_MAX
) -> int | None:
    text = given.get(name.lower())
    return None if text is None else read_long(name, text, low=low, high=high)


def _latest_if_none(given: Mapping[str, str]) -> bool:
    name = "startingOffsetsByTimestampStrategy"
    return read_choice(name, _text(given, name), ("error", "latest")) == "latest"


def _group_offsets_in(
    given: Mapping[str, str], target: CommitTarget, address: ClusterAddress
) -> Storage:
    if target != "none":
        return target
    usual: Storage = "kafka" if address.zookeeper_connect is None else "zookeeper"
    choices: tuple[Storage, ...] = ("zookeeper", "kafka")
    storage = read_choice(OFFSETS_STORAGE, given.get(OFFSETS_STORAGE, usual), choices)
    if storage == "zookeeper" and address.zookeeper_connect is None:
        raise ConfigError("kafka.offsets.storage is zookeeper: that needs zookeeper.connect")
    return storage


def _check_group(
    group_id: str | None,
    target: CommitTarget,
    starting: OffsetLimit | None,
    address: ClusterAddress,
) -> None:
    if group_id is not None:
        # It refuses an id that can't be part of a path, and names this option.
        GroupPaths(group_id)
    elif target != "none":
        raise ConfigError(f"commitOffsetsTo is {target}: that needs group.id")
    elif starting == NamedLimit.GROUP:
        raise ConfigError("startingOffsets is group: that needs group.id")
    if target in {"zookeeper", "both"} and address.zookeeper_connect is None:
        raise ConfigError(f"commitOffsetsTo is {target}: that needs zookeeper.connect")
