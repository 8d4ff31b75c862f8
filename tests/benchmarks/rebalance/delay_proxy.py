"""Run with ``HOST:PORT DELAY_MS``: a server that answers late.

Forwards connections, and holds back what the server says by so many milliseconds. Requests that
are on their way together stay together: it is distance, not a narrow road. Prints its own port;
ends with its standard input.
"""

import asyncio
import sys
from collections import deque

CHUNK_BYTES = 1 << 18


class LateForwarder(asyncio.Protocol):
    """The server's side of one connection: what it says goes on after the delay, in order."""

    def __init__(self, client: asyncio.StreamWriter, delay_s: float) -> None:
        self._client = client
        self._delay_s = delay_s
        self._late: deque[bytes] = deque()
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        """Keep it for a while."""
        self._late.append(data)
        self._loop.call_later(self._delay_s, self._pass_one)

    def connection_lost(self, error: Exception | None) -> None:
        """The end comes late, too."""
        del error
        self._loop.call_later(self._delay_s, self._client.close)

    def _pass_one(self) -> None:
        # One of the pieces is due, and pieces are due in order.
        data = self._late.popleft()
        if not self._client.is_closing():
            self._client.write(data)


async def serve(host: str, port: int, delay_ms: float) -> None:
    """Serve until the standard input ends."""
    loop = asyncio.get_running_loop()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        transport, _ = await loop.create_connection(
            lambda: LateForwarder(writer, delay_ms / 1000), host, port
        )
        try:
            while data := await reader.read(CHUNK_BYTES):
                transport.write(data)
        except OSError:
            pass
        finally:
            transport.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


def main(target: str, delay_ms: str) -> None:
    """Serve."""
    host, _, port = target.partition(":")
    asyncio.run(serve(host, int(port), float(delay_ms)))


if __name__ == "__main__":
    main(*sys.argv[1:])
