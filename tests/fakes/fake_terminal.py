"""A terminal in memory, for code that checks ``isatty``."""

import io


class FakeTerminal(io.StringIO):
    """A text stream that is a terminal: its input, or its output."""

    def isatty(self) -> bool:
        """See the base class."""
        return True
