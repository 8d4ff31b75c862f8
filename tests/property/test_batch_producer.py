"""Whatever brokers do, each record is written or reported, and records stay in order."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.fake_script import Close, Cut, DefaultReply, Fail, Step
from tests.support.fake_net import LONG_MS, FakeNet, fake_net
from tests.support.shares import examples
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import WriteFailed
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.wire.api import ApiKey

PARTITIONS = [TopicPartition("t", number) for number in range(3)]

STEPS: st.SearchStrategy[Step] = st.one_of(
    st.just(DefaultReply()),
    st.just(Close()),
    st.builds(Cut, st.integers(0, 40)),
    st.builds(
        Fail,
        st.sampled_from(
            [
                ErrorCode.NOT_LEADER_FOR_PARTITION,
                ErrorCode.REQUEST_TIMED_OUT,
                ErrorCode.RECORD_LIST_TOO_LARGE,
                ErrorCode.UNKNOWN,
            ]
        ),
    ),
)
COUNTS = st.lists(st.integers(0, 12), min_size=3, max_size=3)


def log(net: FakeNet, tp: TopicPartition) -> list[int]:
    """Return the numbers in a partition."""
    data = net.cluster.log(tp).read(0, 1 << 24)
    decoded = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 24)
    return [int(record.value or b"") for record in decoded.records]


@settings(max_examples=examples(150), deadline=None)
@given(
    counts=COUNTS,
    scripts=st.lists(st.lists(STEPS, max_size=8), min_size=2, max_size=2),
    retries=st.integers(0, 10),
    set_bytes=st.sampled_from([1, 60, 1_000]),
    codec=st.sampled_from([Codec.NONE, Codec.GZIP]),
)
def test_every_record_is_written_or_reported(
    counts: list[int], scripts: list[list[Step]], retries: int, set_bytes: int, codec: Codec
) -> None:
    """The log has all acknowledged records in order; a failure counts exactly the others."""
    net = fake_net(2)
    net.cluster.create_topic("t", partitions=3, replicas=2)
    for broker, steps in zip(net.brokers, scripts, strict=True):
        broker.script(ApiKey.PRODUCE, *steps)
    sender = BatchProducer(
        net.brokers.addresses,
        connector=net.network,
        settings=BatchSettings(
            timeout_ms=LONG_MS,
            retries=retries,
            backoff_ms=1,
            codec=codec,
            set_bytes=set_bytes,
        ),
        wait=lambda _duration_ms: None,
    )
    sent = {
        tp: [Record(0, None, b"%d" % number) for number in range(count)]
        for tp, count in zip(PARTITIONS, counts, strict=True)
    }
    failed: set[TopicPartition] = set()
    unwritten: dict[TopicPartition, int] = {}
    try:
        written = sum(set_.count for set_ in sender.write(sent))
    except WriteFailed as error:
        failed, written, unwritten = set(error.failed), error.written_count, error.unwritten
    finally:
        sender.close()
    assert failed <= set(unwritten)
    assert written + sum(unwritten.values()) == sum(counts)
    for tp, records in sent.items():
        held = log(net, tp)
        acknowledged = list(range(len(records) - unwritten.get(tp, 0)))
        first_times = list(dict.fromkeys(held))
        assert first_times[: len(acknowledged)] == acknowledged
        assert first_times == sorted(first_times)
