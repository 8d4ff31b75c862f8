"""On real threads: what the unit tests of the same name do not hold."""

from zkconsumer.scope import ThreadScope


def test_what_a_thread_died_of() -> None:
    """Its scope keeps it, without the thread's variables; the log has said where it was."""

    def die() -> None:
        raise ValueError("here")

    scope = ThreadScope("test")
    scope.spawn("dies", die, stop=lambda: None)
    assert scope.close(5_000) == []
    error = scope.first_error()
    assert str(error) == "here"
    assert error is not None
    assert error.__traceback__ is None
