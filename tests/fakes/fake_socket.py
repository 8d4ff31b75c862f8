"""A TCP connection below TLS, for code that opens and closes it."""


class FakeSocket:
    """A connection that supports ``close`` only.

    Attributes:
        closed: whether it was closed.
    """

    closed = False

    def close(self) -> None:
        """See ``socket``."""
        self.closed = True
