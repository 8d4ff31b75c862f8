"""Files of offsets as they are read."""

from pathlib import Path

from zkconsumer.errors import ConfigError


def read_text(name: str) -> str:
    """The text of a file of offsets.

    Raises:
        ConfigError: it is not text.
        OSError: it can't be read.
    """
    try:
        return Path(name).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is no file of offsets: {error}") from error
