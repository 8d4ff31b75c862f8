"""The responses of a broker to commits, and those of one that does not coordinate the group."""

from tests.fakes.fake_group import FakeGroupCoordinator, GroupRequest
from tests.support.group_world import SendCommit
from zkconsumer.error_codes import ErrorCode
from zkconsumer.membership.coordinator.core import events as ev


def judge(group: FakeGroupCoordinator, request: SendCommit, instance_id: str | None) -> ErrorCode:
    """Return the error code, as Kafka's ``GroupCoordinator.doCommitOffsets`` does."""
    holder = group._holder(instance_id)
    if request.generation < 0 and group.state == "Empty":
        return ErrorCode.NONE
    if holder is not None and request.member_id != holder:
        return ErrorCode.FENCED_INSTANCE_ID
    code = group._known(request.member_id, request.generation)
    if code == ErrorCode.NONE and group.state == "CompletingRebalance":
        return ErrorCode.REBALANCE_IN_PROGRESS
    return code


def refusal(request: GroupRequest, code: ErrorCode) -> list[ev.Event]:
    """Return the error responses to a request; nobody waits for the one to a LeaveGroup."""
    match request:
        case ev.SendJoin(round=round_):
            return [ev.JoinCompleted(round=round_, code=code)]
        case ev.SendSync(round=round_):
            return [ev.SyncCompleted(round_, code)]
        case ev.SendHeartbeat(member_id, generation):
            return [ev.HeartbeatCompleted(member_id, generation, code)]
        case ev.SendLeave():
            return []
