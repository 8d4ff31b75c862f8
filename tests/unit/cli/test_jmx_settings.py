"""The file that configures how JMX is reached."""

import argparse
import os
from pathlib import Path

import pytest

from zkconsumer.cli.doctor.ready import add_readiness_options, check_readiness_options
from zkconsumer.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("ssl=yes\n", "ssl has to be true or false"),
        ("user=me\npassword=hidden\nssl=true \n", "ssl has to be true or false"),
        ("password=hidden\n", "user and password need each other"),
        ("user=me\n", "user and password need each other"),
        ("pasword=hidden\n", "did you mean password"),
    ],
)
def test_an_invalid_file_is_refused(text: str, reported: str, tmp_path: Path) -> None:
    """What Java would ignore is an error, which does not quote the password.

    Otherwise a password could be sent without the TLS that was asked for.
    """
    file = tmp_path / "jmx.properties"
    file.write_text(text)
    with pytest.raises(ConfigError, match=reported) as refused:
        _check(str(file))
    assert "hidden" not in str(refused.value)


def test_a_pipe_is_refused() -> None:
    """The file is read twice; Java would find the pipe empty and connect without the password."""
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as pipe:
        pipe.write("user=me\npassword=hidden\n")
        pipe.close()
        with pytest.raises(ConfigError, match="read twice"):
            _check(f"/dev/fd/{reading}")


def _check(file: str) -> None:
    parser = argparse.ArgumentParser()
    add_readiness_options(parser)
    args = parser.parse_args(["--ready-for", "4.0", "--jmx", "kafka1:9999", "--jmx-config", file])
    args.fix, args.group = False, None
    check_readiness_options(args)
