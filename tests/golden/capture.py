"""Captures all golden data again: ``python -m tests.golden.capture``.

The data comes from real brokers and the JVM, so this needs a JDK and everything that the sandbox
needs. Each part can also be run by itself.
"""

from tests.golden import (
    capture_assignments,
    capture_frames,
    capture_java_text,
    capture_layouts,
    capture_negotiated,
    capture_partitions,
    capture_records,
    capture_request_logs,
)


def main() -> None:
    """Run every capture."""
    capture_frames.capture()
    capture_records.capture()
    capture_assignments.main()
    capture_java_text.main()
    capture_partitions.main()
    capture_layouts.main()
    capture_negotiated.capture()
    capture_request_logs.capture()


if __name__ == "__main__":
    main()
