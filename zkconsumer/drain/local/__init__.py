"""The engine of one process: no Spark, no Java. Tasks of ``on_spark`` go by parts of it."""

from importlib.util import find_spec

from zkconsumer.errors import ConfigError

if find_spec("pyarrow") is None:
    raise ConfigError("the local engine needs pyarrow: pip install 'zkconsumer[local]'")
