"""``zkconsumer topics create|alter|delete``: executes a change after confirmation.

Brokers execute the change if they support the request: CreateTopics and DeleteTopics from 0.10.1
on, CreatePartitions from 1.0, IncrementalAlterConfigs from 2.3. With older brokers it is written to
ZooKeeper.
"""

import argparse
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Final, TypeAlias

from zkconsumer.cli.cluster_access import CommandCluster, open_cluster
from zkconsumer.cli.confirm import confirm
from zkconsumer.cli.exit_status import REFUSED
from zkconsumer.cli.formats.replica_spread import spread_replicas
from zkconsumer.cli.numbers import whole_number
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import BrokerError, ConfigError, RegistryError, RequestTimedOut
from zkconsumer.model import TopicPartition
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.printable import printable
from zkconsumer.scope import wait_ms
from zkconsumer.status.doctor.diagnosis import counted
from zkconsumer.topic_name import is_topic_name
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.topic_admin import (
    BROKER_DEFAULT,
    DELETE,
    FIRST_WITH_DEFAULTS,
    SET,
    TOPIC,
    AlterationResult,
    AlteredResource,
    AlteredSetting,
    CreatedTopic,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeletedTopic,
    DeleteTopicsRequest,
    GrowingTopic,
    GrownTopic,
    IncrementalAlterConfigsRequest,
    NewTopic,
    TopicSetting,
)
from zkconsumer.zk.topic_admin import TopicNodes

CHANGES: Final = ("create", "alter", "delete")

_COUNT = whole_number(digits=6)
_PAUSE_MS: Final = 100
_INTERNAL: Final = {
    "__consumer_offsets": "the offsets of all groups",
    "__transaction_state": "the state of all transactions",
}


_Outcome: TypeAlias = CreatedTopic | DeletedTopic | GrownTopic | AlterationResult
"""The brokers' response for one topic."""

_Planned: TypeAlias = tuple[str, Callable[[], str]]
"""A sentence about a planned change, and the function that executes it."""


def add_change_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the three actions."""
    group = parser.add_argument_group("create, alter and delete")
    group.add_argument(
        "--partitions",
        type=_COUNT,
        metavar="N",
        help="the total number (create: default 1)",
    )
    group.add_argument(
        "--replication-factor",
        type=_COUNT,
        metavar="N",
        help=(
            "create: replicas of a partition (default: the brokers' default; before Kafka 2.4: 1)"
        ),
    )
    group.add_argument(
        "--config",
        dest="configs",
        type=_setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of the topic; may be repeated",
    )
    group.add_argument(
        "--delete-config",
        dest="deleted_configs",
        action="append",
        default=[],
        metavar="NAME",
        help="alter: reset a setting to the brokers' default; may be repeated",
    )
    group.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def change_topic(action: str, args: argparse.Namespace) -> int:
    """Change one topic; return the exit status.

    Raises:
        ConfigError: the change is impossible; nothing was done.
        ZkConsumerError: brokers or ZooKeeper refuse, or don't respond.
    """
    topic = args.topic
    if not topic or not is_topic_name(topic):
        wrong = f", not {topic!r}" if topic else ""
        raise ConfigError(f"{action} needs the name of one topic: give --topic NAME{wrong}")
    if args.format != "table":
        raise ConfigError(f"--format {args.format} does not go with {action}")
    with open_cluster(args) as access:
        changer = _Changer(access, topic, args)
        sentence, apply = getattr(changer, action)()
        if not confirm(sentence, topic, args.yes):
            return REFUSED
        print(printable(apply()))
    return 0


class _Changer:
    """Plans changes of one topic. Thread: one."""

    def __init__(self, access: CommandCluster, topic: str, args: argparse.Namespace) -> None:
        self._access = access
        self._limit_ms = access.timeout_ms
        self._topic = topic
        self._args = args
        self._view = self._read()

    def create(self) -> _Planned:
        """Plan a creation."""
        args = self._args
        if self._topic in self._view.partitions:
            raise ConfigError(f"topic {self._topic} exists already: 'topics describe' shows it")
        if args.deleted_configs:
            raise ConfigError("--delete-config goes with alter")
        count = args.partitions or 1
        config = dict(args.configs)
        replicas = args.replication_factor
        copies = "default replication factor"
        if replicas is not None:
            copies = f"{counted(replicas, 'replica')} of each"
        settings = [f"{name}={value}" for name, value in config.items()]
        return (
            f"topic {self._topic} would be created: "
            f"{', '.join([counted(count, 'partition'), copies, *settings])}",
            lambda: self._create(count, replicas, config),
        )

    def alter(self) -> _Planned:
        """Plan a change of partitions and settings."""
        args, topic = self._args, self._topic
        present = len(self._partitions())
        if args.replication_factor is not None:
            raise ConfigError(
                "--replication-factor goes with create: replicas are moved by "
                "kafka-reassign-partitions.sh"
            )
        config, deleted, count = dict(args.configs), args.deleted_configs, args.partitions
        if not (config or deleted or count):
            raise ConfigError("alter what? give --partitions, --config or --delete-config")
        if count is not None and count <= present:
            raise ConfigError(
                f"topic {topic} has {counted(present, 'partition')}: the number can only be "
                "increased"
            )
        parts = [
            *(
                [f"partitions {present} -> {count}, which changes the partitions of keys"]
                if count
                else []
            ),
            *(f"{name}={value}" for name, value in config.items()),
            *(f"{name} reset to the brokers' default" for name in deleted),
        ]
        return (
            f"topic {topic} would be changed: {'; '.join(parts)}",
            lambda: self._alter(count, config, deleted),
        )

    def delete(self) -> _Planned:
        """Plan a deletion."""
        if self._topic in _INTERNAL:
            raise ConfigError(f"{self._topic} holds {_INTERNAL[self._topic]}: it can't be deleted")
        if self._args.configs or self._args.deleted_configs or self._args.partitions:
            raise ConfigError("delete takes --topic alone")
        count = len(self._partitions())
        return (
            f"topic {self._topic} would be deleted, with all messages of its "
            f"{counted(count, 'partition')}. This can't be undone.",
            self._delete,
        )

    # --- executing -----------------------------------------------------------------------------

    def _create(self, count: int, replicas: int | None, config: Mapping[str, str]) -> str:
        def request(connection: NegotiatedConnection) -> Sequence[_Outcome]:
            defaults = connection.version_of(CreateTopicsRequest) >= FIRST_WITH_DEFAULTS
            return connection.call(
                CreateTopicsRequest(
                    topics=(
                        NewTopic(
                            name=self._topic,
                            num_partitions=count,
                            replication_factor=replicas or (BROKER_DEFAULT if defaults else 1),
                            configs=tuple(
                                TopicSetting(name=name, value=value)
                                for name, value in config.items()
                            ),
                        ),
                    ),
                    timeout_ms=self._limit_ms,
                ),
                timeout_ms=self._limit_ms,
            ).topics

        def in_zookeeper(nodes: TopicNodes) -> None:
            nodes.create(self._spread(range(count), replicas or 1), config)

        self._change(ApiKey.CREATE_TOPICS, request, in_zookeeper)
        self._await(lambda view: self._led(view, count), "leaders of all partitions")
        return f"topic {self._topic} created: {counted(count, 'partition')}"

    def _alter(self, count: int | None, config: Mapping[str, str], deleted: Sequence[str]) -> str:
        if config or deleted:
            self._configure(config, deleted)
        if count is not None:
            self._grow(count)
        return f"topic {self._topic} changed"

    def _grow(self, count: int) -> None:
        def request(connection: NegotiatedConnection) -> Sequence[_Outcome]:
            topic = GrowingTopic(name=self._topic, count=count)
            message = CreatePartitionsRequest(topics=(topic,), timeout_ms=self._limit_ms)
            return connection.call(message, timeout_ms=self._limit_ms).results

        def in_zookeeper(nodes: TopicNodes) -> None:
            present = len(self._partitions())
            topics = self._access.cluster().topics
            found = next((topic for topic in topics if topic.name == self._topic), None)
            if found is None or not found.partitions:
                problem = "it was deleted meanwhile" if found is None else found.problem
                raise RegistryError(
                    f"topic {self._topic} did not get more partitions: {problem or 'it has none'}"
                )
            replicas = len(found.partitions[0].replicas)
            nodes.grow(self._spread(range(present, count), replicas))

        self._change(ApiKey.CREATE_PARTITIONS, request, in_zookeeper)
        self._await(lambda view: self._led(view, count), "leaders of all partitions")

    def _configure(self, config: Mapping[str, str], deleted: Sequence[str]) -> None:
        settings = (
            *(AlteredSetting(name=k, config_operation=SET, value=v) for k, v in config.items()),
            *(AlteredSetting(name=k, config_operation=DELETE, value=None) for k in deleted),
        )

        def request(connection: NegotiatedConnection) -> Sequence[_Outcome]:
            resource = AlteredResource(
                resource_type=TOPIC, resource_name=self._topic, configs=settings
            )
            message = IncrementalAlterConfigsRequest(resources=(resource,))
            return connection.call(message, timeout_ms=self._limit_ms).resources

        def in_zookeeper(nodes: TopicNodes) -> None:
            nodes.configure(config, deleted)

        self._change(ApiKey.INCREMENTAL_ALTER_CONFIGS, request, in_zookeeper)

    def _delete(self) -> str:
        def request(connection: NegotiatedConnection) -> Sequence[_Outcome]:
            message = DeleteTopicsRequest(topic_names=(self._topic,), timeout_ms=self._limit_ms)
            return connection.call(message, timeout_ms=self._limit_ms).topics

        self._change(ApiKey.DELETE_TOPICS, request, lambda nodes: nodes.delete())
        try:
            self._await(lambda view: self._topic not in view.partitions, "the deletion")
        except RequestTimedOut:
            return (
                f"topic {self._topic} is marked for deletion but still exists: brokers with "
                "delete.topic.enable=false, the default before 1.0, or that are down, don't "
                "delete it"
            )
        return f"topic {self._topic} deleted"

    def _change(
        self,
        api: ApiKey,
        request: Callable[[NegotiatedConnection], Sequence[_Outcome]],
        in_zookeeper: Callable[[TopicNodes], None],
    ) -> None:
        """Send a request to the controller, or write to ZooKeeper if brokers lack the request.

        Raises:
            ConfigError: brokers lack the request, and no ZooKeeper is given.
            BrokerError: the broker refuses.
        """
        controller = self._view.brokers.get(
            -1 if self._view.controller_id is None else self._view.controller_id
        )
        broker = controller or next(iter(self._view.brokers.values()))
        with closing(self._access.dialer.dial(broker, timeout_ms=self._limit_ms)) as connection:
            if connection.versions.has(api):
                self._check(api, request(connection))
                return
            release = connection.versions.release
        if self._access.zookeeper is None:
            raise ConfigError(
                f"{broker} is of Kafka {'.'.join(map(str, release))}, which needs ZooKeeper for "
                "this: give --zookeeper HOSTS; nothing was done"
            )
        in_zookeeper(TopicNodes(self._access.zookeeper, self._topic, release))

    def _check(self, api: ApiKey, outcomes: Sequence[_Outcome]) -> None:
        for outcome in outcomes:
            code = outcome.error_code
            if code not in {ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT}:
                words = f": {outcome.error_message}" if outcome.error_message else ""
                raise BrokerError(code, api.name, f"topic {self._topic}: {error_name(code)}{words}")

    # --- reading -------------------------------------------------------------------------------

    def _read(self) -> ClusterView:
        view = self._access.client.view((self._topic,), timeout_ms=self._limit_ms)
        if not view.brokers:
            # The response of a 0.8 broker names no brokers if there is no topic.
            brokers = {broker.id: broker for broker in self._access.known_brokers()}
            return ClusterView(brokers=brokers, leaders={}, leaderless={}, errors={})
        return view

    def _partitions(self) -> Sequence[int]:
        found = self._view.partitions.get(self._topic)
        if found is None:
            raise ConfigError(
                f"there is no topic {self._topic}: 'topics list' shows the existing ones"
            )
        return found

    def _spread(self, partitions: range, replicas: int) -> dict[int, list[int]]:
        brokers = sorted(self._view.brokers)
        start = random.randrange(len(brokers))  # noqa: S311 - only spreads leaders
        return spread_replicas(partitions, brokers, replicas, start=start)

    def _led(self, view: ClusterView, count: int) -> bool:
        return all(TopicPartition(self._topic, number) in view.leaders for number in range(count))

    def _await(self, holds: Callable[[ClusterView], bool], what: str) -> None:
        """Wait until brokers report the change.

        Raises:
            RequestTimedOut: they did not within the time limit.
        """
        clock = self._access.clock
        deadline_ms = clock.now_ms() + self._limit_ms
        while not holds(self._read()):
            if clock.now_ms() > deadline_ms:
                raise RequestTimedOut(
                    f"topic {self._topic}: waited {self._limit_ms} ms for {what}; it may still come"
                )
            wait_ms(_PAUSE_MS)


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name.strip(), value.strip()
