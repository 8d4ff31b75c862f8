"""The endpoints that show messages: only with the token, a few at a time, each query logged."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from zkconsumer.browse.message import BrowseResult, ndjson_line
from zkconsumer.browse.query import MessageQuery
from zkconsumer.clock import Clock
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.printable import printable
from zkconsumer.status.model import TopicStatus
from zkconsumer.web.guarding import client_host
from zkconsumer.web.pages.messages import DOWNLOADED, messages_page, query_of
from zkconsumer.web.pages.plain import sorry_page
from zkconsumer.web.pages.view import PageRequest, View
from zkconsumer.web.state import ClusterState

audit: Final = logging.getLogger("zkconsumer.web.audit")
"""Logs who read messages of which partition; never contents or filters."""

NOTES: Final = "Zkconsumer-Notes"
"""The response header of a download that lists what was not read."""
_NOTES_CHARS: Final = 1_000
_AT_ONCE: Final = 2
_BUSY: Final = "Too many requests for messages at present: try again."


def _of_cluster(request: Request) -> str:
    """Return " of cluster" with its name, for the log; "" if only one is served."""
    name = request.scope.get("root_path", "").rpartition("/")[2]
    return f" of cluster {printable(name)}" if name else ""


class MessageEndpoints:
    """The endpoints that show messages, or download them. Thread: any."""

    def __init__(
        self,
        read: Callable[[MessageQuery], BrowseResult],
        current: Callable[[], ClusterState],
        clock: Clock,
    ) -> None:
        self._read = read
        self._current = current
        self._clock = clock
        self._reading = threading.BoundedSemaphore(_AT_ONCE)

    def page(self, page_request: PageRequest, state: ClusterState, request: Request) -> View:
        """Return the page of a topic's messages."""
        topic = state.judgements.topics.get(request.path_params["name"])
        if topic is None:
            return sorry_page(404, "There is no such topic in this cluster.")
        result, problem = BrowseResult(), None
        try:
            query = query_of(topic.name, page_request.query, page_request.now_ms)
            result = self._browse(request, topic, query)
        except ZkConsumerError as error:
            problem = str(error)
        return messages_page(page_request, topic, result, problem)

    def download(self, request: Request) -> Response:
        """Return messages as lines of JSON."""
        topic = self._current().judgements.topics.get(request.path_params["name"])
        if topic is None:
            raise HTTPException(404, "There is no such topic in this cluster.")
        try:
            now_ms = self._clock.wall_ms()
            query = query_of(topic.name, request.query_params, now_ms, limit_max=DOWNLOADED)
            result = self._browse(request, topic, query)
        except ConfigError as error:
            raise HTTPException(400, str(error)) from error
        headers = {"Content-Disposition": 'attachment; filename="messages.ndjson"'}
        if result.notes:
            notes = printable("; ".join(result.notes))[:_NOTES_CHARS]
            headers[NOTES] = notes.encode("ascii", "replace").decode("ascii")
        lines = b"".join(map(ndjson_line, result.messages))
        return Response(lines, media_type="application/x-ndjson", headers=headers)

    def _browse(self, request: Request, topic: TopicStatus, query: MessageQuery) -> BrowseResult:
        known = [partition.topic_partition.partition for partition in topic.partitions]
        if query.partition is not None and query.partition not in known:
            raise ConfigError(f"{topic.name} has no partition {query.partition}")
        if not self._reading.acquire(blocking=False):
            raise HTTPException(503, _BUSY, {"Retry-After": "2"})
        try:
            audit.info(
                "messages%s were read by %s: %s",
                _of_cluster(request),
                printable(client_host(request.scope)),
                printable(str(query)),
            )
            return self._read(query)
        finally:
            self._reading.release()
