"""Land two topics each night, then prove that nothing is missing or doubled."""

from datetime import UTC, datetime, timedelta

from airflow.sdk import dag
from zkconsumer_operators import ZkconsumerDrainOperator, ZkconsumerVerifyOperator

CLUSTER = {
    "path": "{{ var.value.get('lake', '/lake/kafka') }}",
    "zookeeper": "{{ var.value.get('zookeeper', 'zk1:2181/kafka') }}",
    "deferrable": True,
}


@dag(
    schedule="@daily",
    start_date=datetime(2014, 5, 13, tzinfo=UTC),
    catchup=False,
    # Two drains on one path are safe, and the second one fails.
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
)
def drain_then_verify() -> None:
    """Drain, then verify."""
    drain = ZkconsumerDrainOperator(
        task_id="drain", topics=["weblog", "orders"], group="drain", **CLUSTER
    )
    verify = ZkconsumerVerifyOperator(task_id="verify", **CLUSTER)
    drain >> verify


drain_then_verify()
