"""The local engine, without Spark or Java; ``on_spark`` uses parts of it in its tasks."""

from importlib.util import find_spec

from zkconsumer.errors import ConfigError

if find_spec("pyarrow") is None:
    raise ConfigError("the local engine needs pyarrow: pip install 'zkconsumer[local]'")
