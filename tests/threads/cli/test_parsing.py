"""Which commands are loaded, in processes of their own (the unit tests hold the rest)."""

import subprocess
import sys


def test_only_the_called_command_is_loaded() -> None:
    """``--help`` loads no consumer; ``consume`` does."""
    code = (
        "import sys; from zkconsumer.cli.parsing import parser_for; parser_for([{}]);"
        "print('zkconsumer.connector.connector' in sys.modules)"
    )
    for word, loaded in (("'--help'", "False"), ("'consume'", "True")):
        done = subprocess.run(
            [sys.executable, "-c", code.format(word)], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == loaded


def test_every_command_can_be_loaded_without_extras() -> None:
    """Its help, at least, works with the bare package."""
    code = (
        "import sys\n"
        "for extra in sys.argv[1:]: sys.modules[extra] = None\n"
        "from zkconsumer.cli.parsing import build_parser\n"
        "build_parser()"
    )
    extras = (
        *("argcomplete", "deltalake", "jinja2", "lz4", "opentelemetry", "prometheus_client"),
        *("pyarrow", "pyspark", "rich", "starlette", "uvicorn", "zstandard"),
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *extras], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
