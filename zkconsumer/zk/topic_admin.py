"""Changes topics in ZooKeeper as the original's tool did, for brokers without such requests.

Source: Kafka 0.8.2.2 and 1.1 ``AdminUtils``, ``TopicCommand``, ``DynamicConfigManager``.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from zkconsumer.errors import ConfigError, RegistryError
from zkconsumer.wire.releases import Release
from zkconsumer.zk.cluster_nodes import DELETED_TOPICS, TOPIC_CONFIGS, config_path
from zkconsumer.zk.paths import BROKER_TOPICS, topic_path
from zkconsumer.zk.store import CreateOp, OpError, SetOp, ZkStore, ZNode

_CHANGES: Final = "/config/changes"
_TRIES: Final = 5


class TopicNodes:
    """Creates and changes the nodes of one topic.

    Args:
        store: the ZooKeeper client.
        topic: a legal name.
        release: the release of the brokers.
    """

    def __init__(self, store: ZkStore, topic: str, release: Release) -> None:
        self._store = store
        self._topic = topic
        self._release = release

    def create(self, assignment: Mapping[int, Sequence[int]], config: Mapping[str, str]) -> None:
        """Create the topic: the settings, then the partitions, on which the controller acts.

        Raises:
            ConfigError: it exists; or Kafka 0.8.0 has no topic settings.
            RegistryError: ZooKeeper refuses.
        """
        self._store.ensure_paths([BROKER_TOPICS])
        if self._release >= (0, 8, 1):
            self._write_config(config)
        elif config:
            raise ConfigError("Kafka 0.8.0 has no topic settings; nothing was done")
        content = {"version": 1, "partitions": {str(key): ids for key, ids in assignment.items()}}
        if not self._store.create(topic_path(self._topic), _json(content), ephemeral=False):
            raise ConfigError(f"topic {self._topic} exists already")

    def grow(self, assignment: Mapping[int, Sequence[int]]) -> None:
        """Add partitions, and keep the other fields of the node.

        Raises:
            ConfigError: there is no such topic.
            RegistryError: another client changed it at the same time, or ZooKeeper refuses.
        """
        path = topic_path(self._topic)
        (node,) = self._store.get_many([path])
        if node is None:
            raise ConfigError(f"there is no topic {self._topic}")
        content = _object_in(path, node, "partitions")
        added = {str(key): list(ids) for key, ids in assignment.items()}
        if content["partitions"].keys() & added.keys():
            raise RegistryError(
                f"topic {self._topic} was changed meanwhile by another client: look at it again"
            )
        content["partitions"] |= added
        (error,) = self._store.write_many([SetOp(path, _json(content), node.version)])
        if error is not None:
            raise RegistryError(f"topic {self._topic} was not changed: {error}")

    def configure(self, changes: Mapping[str, str], deleted: Sequence[str]) -> None:
        """Change settings, and notify the brokers.

        Raises:
            ConfigError: Kafka 0.8.0 has no topic settings.
            RegistryError: another client changed them at the same time, or ZooKeeper refuses.
        """
        if self._release < (0, 8, 1):
            raise ConfigError("Kafka 0.8.0 has no topic settings; nothing was done")
        path = config_path(self._topic)
        (node,) = self._store.get_many([path])
        content: dict[str, Any] = {"version": 1, "config": {}}
        if node is not None:
            content = _object_in(path, node, "config", {})
        content["config"] |= changes
        for name in deleted:
            content["config"].pop(name, None)
        self._store.ensure_paths([TOPIC_CONFIGS])
        data = _json(content)
        op = CreateOp(path, data) if node is None else SetOp(path, data, node.version)
        self._check_written(self._store.write_many([op]))
        self._notify()

    def delete(self) -> None:
        """Request the deletion, which the controller carries out if it may.

        Raises:
            ConfigError: Kafka 0.8.0 can't delete topics.
        """
        if self._release < (0, 8, 1):
            raise ConfigError("Kafka 0.8.0 can't delete topics; nothing was done")
        self._store.ensure_paths([DELETED_TOPICS])
        self._store.create(f"{DELETED_TOPICS}/{self._topic}", b"", ephemeral=False)

    def _write_config(self, config: Mapping[str, str]) -> None:
        self._store.ensure_paths([TOPIC_CONFIGS])
        content = _json({"version": 1, "config": dict(config)})
        self._check_written(self._store.set_or_create_many({config_path(self._topic): content}))

    def _check_written(self, errors: Sequence[object]) -> None:
        (error,) = errors
        if error is not None:
            raise RegistryError(f"the settings of topic {self._topic} were not written: {error}")

    def _notify(self) -> None:
        """Create the next sequential node below ``/config/changes``.

        Brokers skip numbers below the last one they saw, so it must be the number that ZooKeeper
        would assign, which is the number of children ever created.
        """
        self._store.ensure_paths([_CHANGES])
        for _ in range(_TRIES):
            (stat,) = self._store.exists_many([_CHANGES])
            (children,) = self._store.children_many([_CHANGES])
            if stat is None or children is None:
                break
            number = (stat.child_changes + len(children)) // 2
            path = f"{_CHANGES}/config_change_{number:010d}"
            (error,) = self._store.write_many([CreateOp(path, self._notification())])
            if error is None:
                return
            if error is not OpError.NODE_EXISTS:
                break
        raise RegistryError(
            f"the settings of topic {self._topic} are written, but brokers could not be notified: "
            "they read them when they start"
        )

    def _notification(self) -> bytes:
        if self._release < (0, 9):
            return _json(self._topic)
        if self._release < (0, 10, 1):
            return _json({"version": 1, "entity_type": "topics", "entity_name": self._topic})
        return _json({"version": 2, "entity_path": f"topics/{self._topic}"})


def _object_in(
    path: str, node: ZNode, field: str, default: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return a node's JSON object, in which ``field`` is an object, too: the default if absent.

    Raises:
        RegistryError: the node holds something else.
    """
    # Not by ``json_dialect``, which reads as leniently as Scala does: this is written back.
    try:
        content = json.loads(node.data)
    except (ValueError, RecursionError):
        content = None
    if isinstance(content, dict) and isinstance(content.setdefault(field, default), dict):
        return content
    raise RegistryError(
        f"{path} holds no JSON object with {field}: nothing was changed; correct the node first"
    )


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
