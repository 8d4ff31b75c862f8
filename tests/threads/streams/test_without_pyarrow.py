"""The error of Arrow batches without pyarrow."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules["pyarrow"] = None
from zkconsumer.streams import {module}
"""


@pytest.mark.parametrize("module", ["arrow", "polled_batches"])
def test_the_extra_is_named(module: str) -> None:
    """Both kinds of consumers import pyarrow with the first Arrow batch."""
    program = PROGRAM.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "ImportError: Arrow batches need the pyarrow package: pip install" in done.stderr
    assert "'zkconsumer[arrow]'" in done.stderr
