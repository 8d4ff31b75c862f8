"""The logs that the checks compare with are complete, even if leaders move meanwhile."""

from types import SimpleNamespace
from typing import cast

from tests.chaos.read_logs import read_logs
from tests.fakes.fake_broker import FakeBrokers
from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.fake_script import DefaultReply, Fail
from tests.fakes.loopback import LoopbackServer
from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Record, TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.wire.api import ApiKey


def test_a_moved_leader_is_looked_up_again() -> None:
    """Each value is there once, even if the leader moves in the middle of a log."""
    cluster, tp = FakeCluster(), TopicPartition("t", 0)
    cluster.create_topic("t")
    for number in range(3):
        cluster.append(tp, [Record(0, None, b"%d" % number)])
    brokers = FakeBrokers(cluster)
    brokers[0].script(ApiKey.FETCH, DefaultReply(), Fail(ErrorCode.NOT_LEADER_FOR_PARTITION))
    with LoopbackServer() as server:
        brokers.listen_on_loopback(server)
        real = cast("Sandbox", SimpleNamespace(brokers=(brokers[0].address,)))
        logs = read_logs(real, [tp])
    assert logs.positions == {str(number): (tp, number) for number in range(3)}
    assert logs.ends == {tp: 3}
