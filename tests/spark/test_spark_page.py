"""The example of docs/spark.md runs as it is printed (with other addresses and folders)."""

import re
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.queries import Topic
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.sandbox]

PAGE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text("utf-8")


def test_the_example_lands_every_message(
    spark: SparkSession, cluster: Sandbox, tmp_path: Path
) -> None:
    """It can be run again, and then reads the messages that came since."""
    example = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0]
    with closing(Topic(cluster, 2)) as topic:
        for printed, replacement in [
            ("zk1:2181,zk2:2181/kafka", cluster.zookeeper_connect),
            ('"clicks"', f'"{topic.name}"'),
            ("/data/clicks", str(tmp_path)),
        ]:
            assert printed in example
            example = example.replace(printed, replacement)
        for _ in range(2):
            topic.write(5)
            exec(example, {"spark": spark})
            rows = spark.read.parquet(str(tmp_path / "rows")).collect()
            assert sorted((row.partition, row.offset, row.line) for row in rows) == topic.rows
