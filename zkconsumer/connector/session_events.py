"""Session events on their way to the control thread; what can't wait for it happens at once."""

from collections.abc import Callable

from zkconsumer.connector import rebalance_events as ev
from zkconsumer.connector.messages import ThreadDied
from zkconsumer.connector.ownership import OwnedClaims
from zkconsumer.errors import RegistryError
from zkconsumer.observe import Observation, SessionChanged
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.zk.session import SessionEvent, SessionState
from zkconsumer.zk.store import ZkStore


def listen(
    store: ZkStore,
    notify: Callable[[ev.SessionStarted | ev.SessionEnded | ThreadDied], None],
    *,
    claims: OwnedClaims,
    gate: DeliveryGate,
    interrupt: Callable[[], None],
    observation: Observation,
) -> None:
    """Hear of the store's session: a lost one stops delivery there and then, on its thread.

    ``interrupt`` breaks off what the control thread may be waiting for in vain by then.
    """

    def receive(event: SessionEvent) -> None:
        match event.state:
            case SessionState.CONNECTED:
                gate.trust()
                notify(ev.SessionStarted(event.session_id))
            case SessionState.LOST:
                claims.fence(event.session_id)
                interrupt()
                notify(ev.SessionEnded(event.session_id))
            case SessionState.SUSPENDED:
                gate.suspect()
            case SessionState.DEAD:
                notify(ThreadDied(RegistryError("the ZooKeeper client died, see the log of kazoo")))
        observation.report(SessionChanged(event.state.value, event.session_id))

    store.on_session(receive)
    store.on_response_sent(gate.received)
    # Connected before anyone listened. The last word must be the session in force: one that ended
    # meanwhile has been heard of already, and its start said late would put it in place again.
    message = None
    while message != store.session_id:
        message = store.session_id
        notify(ev.SessionStarted(message))
