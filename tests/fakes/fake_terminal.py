"""A terminal in memory, for whatever looks whether somebody sits there."""

import io


class FakeTerminal(io.StringIO):
    """A text stream that is a terminal: what was typed, or what was drawn."""

    def isatty(self) -> bool:
        """See the base class."""
        return True
