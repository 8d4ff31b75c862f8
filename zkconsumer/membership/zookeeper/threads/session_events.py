"""Passes session events to the control thread; does at once what can't wait for that thread."""

from collections.abc import Callable

from zkconsumer.errors import RegistryError
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.threads.messages import ThreadDied
from zkconsumer.membership.zookeeper.threads.ownership import OwnedClaims
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
    """Subscribe to the store's session events; a lost session stops delivery at once.

    ``interrupt`` ends a call that the control thread may be blocked in.
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
    # The store was connected before the subscription. The last event must be of the current
    # session: if a session ended meanwhile, a late start event would bring it back.
    session_id = None
    while session_id != store.session_id:
        session_id = store.session_id
        notify(ev.SessionStarted(session_id))
