"""Strips tracebacks from errors that are stored.

A traceback keeps the variables of all of its frames alive (whole responses, decompressed data) for
as long as the error is referenced. So errors are stored (in a field, a queue, a future, an event)
without their tracebacks.
"""

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def without_frames(error: E) -> E:
    """Drop the tracebacks of an error to be stored, and of its causes.

    Its ``__context__`` is dropped completely, since that is an unrelated error, which may still be
    in use.

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
