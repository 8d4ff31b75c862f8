"""Settings of Spark under which the small queries of tests take little time."""

from typing import Final

JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A session of minutes is over before the better compiler has paid for itself."""

LOCAL: Final = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
}
"""On loopback, and with as many tasks as a query needs to have several."""

INTERPRETED: Final = {
    # A plan of a few rows has run before Java code for it would be compiled.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # And none is worth being planned again amid its run.
    "spark.sql.adaptive.enabled": "false",
}
