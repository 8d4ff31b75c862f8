"""InitProducerId (from 0.11 on): assigns an id to an idempotent producer (KIP-98).

Any broker serves producers without transactions. v3 (2.5) can bump the epoch of an id instead
(KIP-360), v4 (2.7) and v5 (3.8) concern transactions alone. Kafka 4 serves all of them.
Source: Kafka 3.9 ``InitProducerIdRequest``.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, Int64, NullableString, Since

NO_TRANSACTION_TIMEOUT_MS = (1 << 31) - 1
"""The transaction time-out of producers without transactions."""


class InitProducerIdResponse(Response, api=APIS[ApiKey.INIT_PRODUCER_ID]):
    """The producer id and epoch; both are -1 with an error."""

    throttle_time_ms: Int32 = 0
    error_code: Int16
    producer_id: Int64
    producer_epoch: Int16


class InitProducerIdRequest(Request[InitProducerIdResponse]):
    """Sent to any broker; with a transactional id, to its coordinator."""

    transactional_id: NullableString = None
    transaction_timeout_ms: Int32 = NO_TRANSACTION_TIMEOUT_MS
    producer_id: Annotated[Int64, Since(3)] = -1
    producer_epoch: Annotated[Int16, Since(3)] = -1
