"""Generated files are as their tables would print them now."""

import pytest

from scripts.generate.files import FILES, ROOT, current


@pytest.mark.parametrize("path", FILES)
def test_the_generated_file_is_current(path: str) -> None:
    """``make generated`` writes it again."""
    assert (ROOT / path).read_text("utf-8") == current(path)
