"""Lines that ``mypy --strict`` must refuse, each with its reason.

``test_typing`` reads this file: a line with an ``E:`` comment must be an error whose message has
what stands there, and no other line may be one.
"""

from zkconsumer import ConsumerConfig, KafkaConsumer
from zkconsumer.consumer.config import PollConfig

ConsumerConfig(auto_offst_reset="smallest")  # E: did you mean "auto_offset_reset"
ConsumerConfig(auto_offset_reset="beginning")  # E: "auto_offset_reset"
ConsumerConfig(fetch_min_bytes="1")  # E: "fetch_min_bytes"
ConsumerConfig(auto_commit_enable=1.0)  # E: "auto_commit_enable"
ConsumerConfig(max_poll_records=1)  # E: Unexpected keyword argument "max_poll_records"
ConsumerConfig.from_file("f", group="g")  # E: Unexpected keyword argument "group"
ConsumerConfig.from_properties({}, grup_id="g")  # E: did you mean "group_id"
KafkaConsumer("t", auto_offst_reset="earliest")  # E: did you mean "auto_offset_reset"
KafkaConsumer("t", auto_offset_reset="first")  # E: "auto_offset_reset"
KafkaConsumer("t", bootstrap_servers=9092)  # E: "bootstrap_servers"
KafkaConsumer("t", value_deserializer="utf-8")  # E: "value_deserializer"
KafkaConsumer("t", enable_auto_commit="no")  # E: "enable_auto_commit"
KafkaConsumer({"group.id": "g"})  # E: expected "str"
KafkaConsumer("t", security_protocol="TLS")  # E: "security_protocol"
KafkaConsumer("t", proxy_url="socks5://h")  # E: Unexpected keyword argument "proxy_url"
PollConfig(auto_offst_reset="latest")  # E: did you mean "auto_offset_reset"
PollConfig(max_poll_records="1")  # E: "max_poll_records"
