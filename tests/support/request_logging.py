"""Brokers that log their requests, with log4j settings as an operator would use them."""

from pathlib import Path
from typing import NamedTuple

_SETTINGS = """\
log4j.rootLogger=OFF
log4j.logger.kafka.request.logger={level}, requests
log4j.additivity.kafka.request.logger=false
log4j.appender.requests=org.apache.log4j.FileAppender
log4j.appender.requests.File={file}
log4j.appender.requests.layout=org.apache.log4j.PatternLayout
log4j.appender.requests.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
"""Appender and layout are those of Kafka's own ``log4j.properties``."""


class RequestLogging(NamedTuple):
    """Flags for ``broker_jvm_flags``, and the log file of all brokers of that sandbox."""

    flags: tuple[str, ...]
    file: Path

    @classmethod
    def into(cls, folder: Path, level: str = "DEBUG") -> "RequestLogging":
        """Create settings that log to a folder."""
        file = folder / "kafka-request.log"
        settings = folder / "request-log4j.properties"
        settings.write_text(_SETTINGS.format(level=level, file=file), "ascii")
        # Of two definitions the last one applies.
        return cls((f"-Dlog4j.configuration={settings.as_uri()}",), file)
