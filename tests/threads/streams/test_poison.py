"""Dead letters, on real threads (the unit tests of the same name hold the rest)."""

from pathlib import Path

from tests.support.dead_letters import dead_letter_file, dead_letters, poison
from zkconsumer.scope import ThreadScope


def test_dead_letters_of_several_streams_are_not_mixed_up(tmp_path: Path) -> None:
    """Each line is complete."""
    path = tmp_path / "letters"
    file, scope = dead_letter_file(path), ThreadScope("letters")

    def write(start: int) -> None:
        for offset in range(start, start + 20):
            file.write(poison(offset, raw=bytes(2_000)))

    for number in range(4):
        scope.spawn(f"stream-{number}", lambda start=number * 20: write(start), stop=lambda: None)  # type: ignore[misc]
    assert scope.close(10_000) == []
    assert scope.first_error() is None
    assert sorted(int(str(line["offset"])) for line in dead_letters(path)) == list(range(80))
