"""Settings of Spark that make the small queries of tests fast."""

from typing import Final

JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The optimizing compiler does not pay off in sessions of a few minutes."""

LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}
"""Run on loopback, with just enough tasks to have several."""

INTERPRETED: Final = {
    # With a few rows, a query is done before generated Java code would be compiled.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # No query is long enough to be replanned while it runs.
    "spark.sql.adaptive.enabled": "false",
}
