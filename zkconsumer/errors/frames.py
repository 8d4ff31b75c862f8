"""Strips tracebacks from errors that are stored.

A traceback holds the variables of all of its frames for as long as the error is referenced: whole
responses, and decompressed data. So an error is stored anywhere (a field, a queue, a future, an
event) without its traceback.
"""

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def without_frames(error: E) -> E:
    """Drop the tracebacks of an error to be stored, and of its causes.

    Its ``__context__`` is dropped completely: that is an unrelated error, perhaps one being
    handled.

    Args:
        error: an error that is not being raised, or whose traceback is no longer needed.

    Returns:
        The same error; its causes are kept, for their messages.
    """
    current: BaseException | None = error
    seen: set[int] = set()
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        current.__traceback__ = None
        current.__context__ = None
        current = current.__cause__
    return error
