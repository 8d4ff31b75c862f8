"""Which tests a worker of pytest-xdist gets at once."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

_TOGETHER: Final = (
    # Brokers with TLS and SASL, of five versions, and a command of Kafka's for each of their users.
    ("tests/integration/net/test_secur",),
    # A node of Kafka 4, which takes ten seconds to start, and a command of Kafka's for each topic.
    (
        "tests/integration/consumer/test_kafka4",
        "tests/integration/consumer/test_recreated_topics",
        "tests/integration/cli/test_replay",
        "tests/integration/cli/test_without_zookeeper",
        "tests/integration/cli/test_writing_tools",
        "tests/integration/mirror/test_arrival",
        "tests/integration/spark/test_group_progress",
    ),
    # Three brokers.
    (
        "tests/docker/test_cluster",
        "tests/integration/fetch/test_poll_engine",
        "tests/integration/spark/test_cluster_reader",
    ),
)
"""How the names begin of modules that share servers which are dear."""


class ByServers(LoadScopeScheduling):
    """A module's tests go to one worker; and so do modules that share servers which are dear."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.partition("::")[0]
        return next((names[0] for names in _TOGETHER if module.startswith(names)), module)
