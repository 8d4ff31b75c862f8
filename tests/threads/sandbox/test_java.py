"""Which Java runs the servers, in processes of their own."""

from pathlib import Path

import pytest

from zkconsumer.errors import SandboxError
from zkconsumer.sandbox.java import check_kerberos


@pytest.mark.parametrize(("version", "fits"), [("17.0.1", True), ("25.0.2", False), ("", False)])
def test_brokers_with_kerberos_need_a_java_that_is_not_too_new(
    tmp_path: Path, version: str, fits: bool
) -> None:
    """Newer ones don't find their key: the error comes before anything starts, with the remedy."""
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    if fits:
        check_kerberos(java)
        return
    with pytest.raises(SandboxError, match=r"up to 22, .*set JAVA_HOME"):
        check_kerberos(java)
