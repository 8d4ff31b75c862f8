"""A stream delivers its queue's messages, whichever ways of reading alternate."""

from collections.abc import Callable
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chunks import each_chunk
from tests.support.shares import examples
from tests.support.stream_model import (
    SILENCE_MS,
    StreamModel,
    by_iterator,
    by_task,
    in_arrow,
    in_list,
    singly,
)
from zkconsumer.records.codecs import Codec
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.poison import PoisonMode

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

Action = Callable[[StreamModel], object]
numbers = st.integers(0, 1)
mosts = st.sampled_from([1, 2, 3, 7, 500])


def requesting(read: Callable[[int], Action], most: int) -> Action:
    """Return an action that requests at most this many messages in one way."""
    return lambda model: model.request(read(most), most)  # type: ignore[arg-type]


def putting(number: int, offsets: list[int], codec: Codec, stops: bool) -> Action:
    """Return an action that adds a fetched chunk, which may end with an unreadable record."""
    return lambda model: model.put(number, offsets, codec, stops=stops)


def silence(model: StreamModel) -> None:
    """Let ZooKeeper be silent for too long."""
    model.suspect()
    model.wait(SILENCE_MS)


offset_lists = st.lists(st.integers(0, 12), max_size=8, unique=True).map(sorted)
puts = st.builds(
    putting,
    numbers,
    offset_lists,
    st.sampled_from([Codec.NONE, Codec.NONE, Codec.GZIP]),
    st.sampled_from([False, False, False, True]),
)
requests = st.one_of(
    st.builds(requesting, st.sampled_from([in_list, in_arrow]), mosts),
    st.sampled_from(
        [
            lambda model: model.request(singly, 1),
            lambda model: model.request(by_task, 1),
            lambda model: model.request(by_iterator(0), 1),
            lambda model: model.request(by_iterator(1), 1),
        ]
    ),
)
others = st.one_of(
    st.builds(lambda number: lambda model: model.revoke(number), numbers),
    st.sampled_from(
        [
            StreamModel.fail,
            StreamModel.suspect,
            StreamModel.trust,
            lambda model: model.wait(SILENCE_MS - 1),
            silence,
            silence,
        ]
    ),
)
scripts = st.lists(st.one_of(puts, puts, requests, requests, requests, others), max_size=50)


@settings(deadline=None, max_examples=examples(200))
@given(st.sampled_from(Delivery), st.sampled_from([PoisonMode.RAISE, PoisonMode.SKIP]), scripts)
def test_a_stream_delivers_each_message_once_in_any_way_of_reading(
    delivery: Delivery, mode: PoisonMode, script: list[Action]
) -> None:
    """Messages come in order, none of a claim that was given up, and offsets agree."""
    model = StreamModel(delivery, mode)
    with closing(model.loop):
        for action in script:
            action(model)
        model.finish()
