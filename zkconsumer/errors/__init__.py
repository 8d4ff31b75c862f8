"""Every error a caller can meet: ``except KafkaError`` catches them all.

Names, bases and attributes are those of kafka-python's ``kafka.errors``, of all its versions from
2.0 to 3.0. An error that has a name of this project, too, is the same class under both names.

Expected outcomes (a claim conflict, one partition's error code) are values, not exceptions.
Exceptions of other libraries never reach callers: ours are raised from them.
"""

from typing import TYPE_CHECKING

from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors.broker_codes import *  # noqa: F403 - every class of these is public
from zkconsumer.errors.frames import without_frames as without_frames
from zkconsumer.errors.general import *  # noqa: F403 - as above
from zkconsumer.errors.others import *  # noqa: F403 - as above
from zkconsumer.errors.polling import *  # noqa: F403 - as above
from zkconsumer.errors.roots import *  # noqa: F403 - as above
from zkconsumer.errors.roots import KafkaError as KafkaError
from zkconsumer.errors.roots import for_code as for_code
from zkconsumer.errors.secure import *  # noqa: F403 - as above

kafka_errors = {int(code): for_code(code) for code in ErrorCode}
"""The class of each error code, by its number; ``for_code`` also knows codes of later releases."""

if not TYPE_CHECKING:  # type checkers can't compute it, and treat names imported by * as public
    __all__ = ["for_code", "kafka_errors", "without_frames"]
    __all__ += [
        name
        for name, kind in globals().items()
        if isinstance(kind, type) and issubclass(kind, KafkaError)
    ]
