"""The manual page says what the commands say."""

import subprocess
import sys

from tests.docs.test_readme import ROOT


def test_the_manual_page_is_current() -> None:
    """``make manual`` writes it again."""
    done = subprocess.run(
        [sys.executable, "scripts/make-manual", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
