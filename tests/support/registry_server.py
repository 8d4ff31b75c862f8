"""A schema registry on loopback with the parts of the protocol that readers need."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

Responder = Callable[[BaseHTTPRequestHandler], None]


class RegistryServer:
    """A registry, and the requests it received.

    Attributes:
        by_id: responses by schema id.
        by_guid: responses by GUID.
        by_subject: the versions of subjects, from 1 on.
        requests: the requested paths.
        authorization: the required Authorization header; None: not required.
        responder: handles all requests instead, if set.
    """

    def __init__(self) -> None:
        self.by_id: dict[int, dict[str, Any]] = {}
        self.by_guid: dict[str, dict[str, Any]] = {}
        self.by_subject: dict[str, list[dict[str, Any]]] = {}
        self.requests: list[str] = []
        self.authorization: str | None = None
        self.responder: Responder | None = None
        self.url = ""

    def answer(self, path: str) -> tuple[int, object]:
        """Return status and body of a response."""
        match [unquote(step) for step in urlsplit(path).path.strip("/").split("/")]:
            case ["schemas", "ids", number]:
                body: Any = self.by_id.get(int(number))
            case ["schemas", "guids", guid]:
                body = self.by_guid.get(guid)
            case ["subjects", subject, "versions", version]:
                versions = self.by_subject.get(subject, [])
                at = len(versions) if version == "latest" else int(version)
                body = versions[at - 1] if 0 < at <= len(versions) else None
            case _:
                return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}
        if body is None:
            return 404, {"error_code": 40403, "message": "Schema not found"}
        return 200, body


@contextmanager
def registry_server() -> Iterator[RegistryServer]:
    """Run a registry during the context."""
    registry = RegistryServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.requests.append(self.path)
            if registry.responder is not None:
                registry.responder(self)
                return
            if registry.authorization not in (None, self.headers["Authorization"]):
                respond(self, 401, {"error_code": 401, "message": "Unauthorized"})
                return
            respond(self, *registry.answer(self.path))

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    registry.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))  # noqa: TID251 - a server
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def respond(handler: BaseHTTPRequestHandler, status: int, body: object) -> None:
    """Send a whole response."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    handler.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)
