"""Errors that are kept: without the frames that they passed on their way.

A traceback holds every variable of every function on its way, and as long as somebody keeps the
error, it keeps those: whole answers of brokers, and what was decompressed of them. So an error that
is put anywhere (a field, a queue, a future, an event) goes there without.
"""

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


def without_frames(error: E) -> E:
    """Drop the tracebacks of an error that is to be kept, and of its causes.

    What merely happened around it (``__context__``) is dropped as a whole: that is somebody else's
    error, perhaps one that is being handled.

    Args:
        error: one that is not to be raised on from here, or whose way so far may be forgotten.

    Returns:
        The same error; its causes stay, for their words.
    """
    one: BaseException | None = error
    seen: set[int] = set()
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        one.__traceback__ = None
        one.__context__ = None
        one = one.__cause__
    return error
