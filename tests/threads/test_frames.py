"""Tracebacks of threads, on real threads (the unit tests of the same name hold the rest)."""

from zkconsumer.scope import ThreadScope


def test_a_scope_keeps_a_thread_s_error_without_its_frames() -> None:
    """They would keep the thread's variables alive; the log has the traceback."""

    def die() -> None:
        raise ValueError("here")

    scope = ThreadScope("test")
    scope.spawn("dies", die, stop=lambda: None)
    assert scope.close(5_000) == []
    error = scope.first_error()
    assert str(error) == "here"
    assert error is not None
    assert error.__traceback__ is None
