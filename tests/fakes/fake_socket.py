"""A connection below TLS, for what opens and closes it."""


class FakeSocket:
    """A connection that can only be closed.

    Attributes:
        closed: whether it was.
    """

    closed = False

    def close(self) -> None:
        """See ``socket``."""
        self.closed = True
