"""Forwards connections to a server and delays its responses: run with ``HOST:PORT DELAY_MS``.

All bytes from the server come that many milliseconds later. Responses in flight together stay
together: this simulates latency, not a lack of bandwidth. Prints its own port; ends when its
standard input does.
"""

import asyncio
import sys
from collections import deque

CHUNK_BYTES = 1 << 18


class LateForwarder(asyncio.Protocol):
    """Forwards what the server sends on one connection after the delay, in order."""

    def __init__(self, client: asyncio.StreamWriter, delay_s: float) -> None:
        self._client = client
        self._delay_s = delay_s
        self._late: deque[bytes] = deque()
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        """Keep the data, and forward it after the delay."""
        self._late.append(data)
        self._loop.call_later(self._delay_s, self._pass_one)

    def connection_lost(self, error: Exception | None) -> None:
        """Close the client's connection after the delay."""
        del error
        self._loop.call_later(self._delay_s, self._client.close)

    def _pass_one(self) -> None:
        # One piece of data is due, and they are due in order.
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
    """Run the proxy."""
    host, _, port = target.partition(":")
    asyncio.run(serve(host, int(port), float(delay_ms)))


if __name__ == "__main__":
    main(*sys.argv[1:])
