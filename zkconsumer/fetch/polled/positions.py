"""The thread that asks about positions: where policies point, where logs and epochs end.

It also reminds the keeper of partitions that nobody leads: their leaders come when they come.
"""

from collections.abc import Callable, Mapping

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.cluster.offset_times import EARLIEST, LATEST, TimedOffset
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ProtocolError, TransportError, ZkConsumerError
from zkconsumer.fetch.polled.partition_state import PositionLookup
from zkconsumer.fetch.polled.partition_states import PartitionStates
from zkconsumer.fetch.polled.planning import PositionLookups, plan_questions
from zkconsumer.fetch.polled.settings import PollFetchSettings
from zkconsumer.fetch.polled.shared_state import SharedFetchState
from zkconsumer.fetch.polled.starts import ByTime, ResetPolicy, timestamp_of
from zkconsumer.model import TopicPartition
from zkconsumer.records.fetched import IsolationLevel
from zkconsumer.scope import Mailbox

_ABOUT = "asking about positions"
_FIRST_PATIENCE_MS = 3_000
"""How long the first try may take; each further one takes twice as long, up to a request's time.

One leader that does not answer holds up the answers of the others for so long.
"""

Found = TimedOffset | int


class PositionResolver:
    """Thread: its own, but for ``wake`` and ``stop``.

    Args:
        desk: all partitions.
        client: asks; its owner stops it, which ends a question that is under way.
        keeper: to be reminded.
        settings: times, and the isolation.
        clock: for pauses.
    """

    def __init__(
        self,
        desk: SharedFetchState,
        client: ClusterClient,
        keeper: MetadataManager,
        settings: PollFetchSettings,
        clock: Clock,
    ) -> None:
        self._desk = desk
        self._client = client
        self._keeper = keeper
        self._settings = settings
        self._clock = clock
        self._mailbox: Mailbox[None] = Mailbox()
        self._patience_ms = min(_FIRST_PATIENCE_MS, settings.request_timeout_ms)
        self._stopping = False

    def wake(self) -> None:
        """Look again for what is to be asked. Thread: any."""
        self._mailbox.put(None)

    def stop(self) -> None:
        """End soon. Thread: any."""
        self._stopping = True
        self._mailbox.put(None)

    def run(self) -> None:
        """Ask until ``stop``."""
        while not self._stopping:
            # Before the turn: what comes from here on, the turn may not have seen.
            self._mailbox.drain()
            self._mailbox.get(self.turn())

    def turn(self) -> int | None:
        """Ask what is to be asked; how long to rest then, if not woken. None: until woken."""
        questions = self._desk.change(plan_questions)
        if questions.all():
            self._ask(questions)
            return 0
        rest_ms = questions.due_ms
        if rest_ms is not None:
            rest_ms = max(1, rest_ms - self._clock.now_ms())
        if self._desk.look(PartitionStates.lacks_leaders):
            self._keeper.update()
            most_ms = self._settings.retry_backoff_max_ms
            rest_ms = most_ms if rest_ms is None else min(rest_ms, most_ms)
        return rest_ms

    def _ask(self, questions: PositionLookups) -> None:
        by_time = [one for one in questions.resets if isinstance(one[1], ByTime)]
        by_edge = [one for one in questions.resets if not isinstance(one[1], ByTime)]
        if by_edge:
            self._try([one for one, _ in by_edge], lambda: self._ask_resets(by_edge))
        if by_time:
            self._try([one for one, _ in by_time], lambda: self._ask_resets(by_time))
        if questions.edges:
            self._try(questions.edges, lambda: self._ask_edges(questions.edges))
        if questions.epochs:
            self._try(questions.epochs, lambda: self._ask_epochs(questions.epochs))

    def _try(
        self,
        questions: "list[PositionLookup] | tuple[PositionLookup, ...]",
        ask: Callable[[], bool],
    ) -> None:
        """Ask; what fails for all is tried again later, or told to the caller."""
        try:
            all_answered = ask()
        except (TransportError, ProtocolError) as error:
            if not self._stopping:
                self._desk.repeats.happened(_ABOUT, f"no answer about positions: {error}")
            all_answered = False
            self._fail(questions)
        except ZkConsumerError as error:
            self._give_up(questions, error)
            return
        else:
            self._desk.repeats.works(_ABOUT)
        longest_ms = self._settings.request_timeout_ms
        self._patience_ms = (
            min(_FIRST_PATIENCE_MS, longest_ms)
            if all_answered
            else min(self._patience_ms * 2, longest_ms)
        )

    def _fail(self, questions: "list[PositionLookup] | tuple[PositionLookup, ...]") -> None:
        code = ErrorCode.NETWORK_EXCEPTION

        def take(board: PartitionStates, now_ms: int) -> None:
            for question in questions:
                board.answer_code(question, code, now_ms)

        self._desk.change(take)

    def _give_up(
        self, questions: "list[PositionLookup] | tuple[PositionLookup, ...]", error: ZkConsumerError
    ) -> None:
        def take(board: PartitionStates, now_ms: int) -> None:
            for question in questions:
                board.give_up_question(question, error, now_ms)

        self._desk.change(take)

    def _ask_resets(self, resets: list[tuple[PositionLookup, ResetPolicy]]) -> bool:
        times = {one.topic_partition: timestamp_of(policy) for one, policy in resets}
        found = dict(self._list(times, self._settings.isolation))
        behind_all = {
            tp: int(LATEST)
            for tp, one in found.items()
            if isinstance(one, TimedOffset) and one.offset < 0 and times[tp] >= 0
        }
        if behind_all:
            found.update(self._list(behind_all, self._settings.isolation))

        def take(board: PartitionStates, now_ms: int) -> None:
            for question, _ in resets:
                board.answer_reset(question, found[question.topic_partition], now_ms)

        self._desk.change(take)
        return not any(isinstance(one, int) for one in found.values())

    def _ask_edges(self, questions: tuple[PositionLookup, ...]) -> bool:
        """Ask where logs begin and end, whatever the isolation: that is what can be fetched."""
        partitions = [one.topic_partition for one in questions]
        starts = self._list(dict.fromkeys(partitions, int(EARLIEST)))
        ends = self._list(dict.fromkeys(partitions, int(LATEST)))
        is_whole = True

        def take(board: PartitionStates, now_ms: int) -> None:
            nonlocal is_whole
            for question in questions:
                start, end = starts[question.topic_partition], ends[question.topic_partition]
                if isinstance(start, int) or isinstance(end, int):
                    is_whole = False
                    code = start if isinstance(start, int) else end
                    assert isinstance(code, int)
                    board.answer_code(question, code, now_ms)
                elif start.offset < 0 or end.offset < 0:
                    board.answer_code(question, ErrorCode.UNKNOWN, now_ms)
                else:
                    board.answer_edges(question, start.offset, end.offset, now_ms)

        self._desk.change(take)
        return is_whole

    def _ask_epochs(self, questions: tuple[PositionLookup, ...]) -> bool:
        asked = {
            one.topic_partition: (one.leader_epoch, one.fetched.leader_epoch)
            for one in questions
            if one.fetched is not None
        }
        ends: Mapping[TopicPartition, EpochEnd | int | None] = self._client.epoch_ends(
            asked, timeout_ms=self._patience_ms
        )

        def take(board: PartitionStates, now_ms: int) -> None:
            for question in questions:
                board.answer_epoch(question, ends[question.topic_partition], now_ms)

        self._desk.change(take)
        return not any(isinstance(one, int) for one in ends.values())

    def _list(
        self,
        times: Mapping[TopicPartition, int],
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> Mapping[TopicPartition, Found]:
        return self._client.list_offsets(times, timeout_ms=self._patience_ms, isolation=isolation)
