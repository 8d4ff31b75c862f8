"""The error when batches are requested and pyarrow is not installed."""

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
    """Both consumers import their batch module at the first request for batches."""
    program = PROGRAM.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "ImportError: Arrow batches need the pyarrow package: pip install" in done.stderr
    assert "'zkconsumer[arrow]'" in done.stderr
