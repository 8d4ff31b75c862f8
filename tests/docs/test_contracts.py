"""Docstrings of public names say what a caller must know, and what they say is true.

Types are left to type checkers. Everything else stands in sections: Args, Returns, Raises,
Attributes, Thread, Source.
"""

import builtins
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import FunctionType
from typing import Any

import pytest

import zkconsumer
from tests.support.documented_world import documented_names
from zkconsumer import KafkaConsumer, TopicPartition

PUBLIC = {name: getattr(zkconsumer, name) for name in zkconsumer.__all__ if name != "__version__"}
ERRORS = {name for name, kind in PUBLIC.items() if issubclass(kind, zkconsumer.ZkConsumerError)}
FACES = ["KafkaConsumer", "KafkaProducer", "KafkaStream", "ZookeeperConsumerConnector"]
"""What a program calls; everything else is a value, or called back."""
BY_KEY = {"ConsumerConfig"}
"""Its attributes are its keys, which ``ConsumerSettings`` describes one by one."""
SECTIONS = r"Args|Attributes|Example|Raises|Returns|Source|Thread"
CP = TopicPartition("clicks", 0)


def section(text: str, name: str) -> str:
    """A section of a docstring, without its title; empty where there is none."""
    found = re.search(rf"^{name}:[ \n](.*?)(?=^(?:{SECTIONS}):|\Z)", text, re.DOTALL | re.MULTILINE)
    return inspect.cleandoc("\n" + found[1]) if found else ""


def entries(text: str, name: str) -> list[str]:
    """The names that a section explains, in their order."""
    lines = re.findall(r"^(?! )\*{0,2}([\w., ]+?)(?: \(.*\))?: ", section(text, name), re.MULTILINE)
    return [entry for line in lines for entry in line.split(", ")]


def own(kind: type) -> bool:
    """Whether a class is ours: bases may be of Python's library."""
    return kind.__module__.startswith("zkconsumer")


def methods(kind: type) -> dict[str, FunctionType]:
    """The public methods of a class, by name: its own, and those of the parts it is made of."""
    found: dict[str, FunctionType] = {}
    for part in kind.__mro__:
        for name, attribute in vars(part).items():
            function = getattr(attribute, "__func__", attribute)
            if own(part) and not name.startswith("_") and inspect.isfunction(function):
                found.setdefault(name, function)
    return found


METHODS = [
    pytest.param(PUBLIC[kind], function, id=f"{kind}.{name}")
    for kind in sorted(PUBLIC)
    for name, function in methods(PUBLIC[kind]).items()
]
CALLS = [param for param in METHODS if str(param.id).split(".")[0] in FACES]


def doc(thing: object) -> str:
    """Its docstring."""
    return inspect.getdoc(thing) or ""


@pytest.mark.parametrize(("kind", "function"), METHODS)
def test_a_method_explains_its_arguments_and_no_others(kind: type, function: FunctionType) -> None:
    """In the order of the signature."""
    del kind
    parameters = inspect.signature(function).parameters
    assert entries(doc(function), "Args") == [
        name for name in parameters if name not in ("self", "cls")
    ]


@pytest.mark.parametrize(("kind", "function"), METHODS)
def test_a_method_says_what_it_returns(kind: type, function: FunctionType) -> None:
    """If that is something."""
    del kind
    returns = inspect.signature(function).return_annotation not in (None, "None")
    assert returns == bool(section(doc(function), "Returns"))


@pytest.mark.parametrize(("kind", "function"), METHODS)
def test_a_method_says_who_may_call_it(kind: type, function: FunctionType) -> None:
    """It or its class."""
    assert section(doc(function), "Thread") or section(doc(kind), "Thread")


@pytest.mark.parametrize(("kind", "function"), CALLS)
def test_a_call_cites_its_model(kind: type, function: FunctionType) -> None:
    """The class of Kafka or kafka-python, a KIP, or that it is this project's own."""
    del kind
    assert section(doc(function), "Source")


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_value_explains_its_fields(name: str) -> None:
    """Under ``Attributes``, or under ``Args`` where these are the fields; all of them."""
    kind = PUBLIC[name]
    fields = getattr(kind, "_fields", ()) if issubclass(kind, tuple) else ()
    if dataclasses.is_dataclass(kind) and name not in BY_KEY:
        fields = tuple(
            field.name for field in dataclasses.fields(kind) if not field.name.startswith("_")
        )
    explained = {*entries(doc(kind), "Attributes"), *entries(doc(kind), "Args")}
    assert [field for field in fields if field not in explained] == []


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - ERRORS))
def test_a_constructor_explains_its_arguments(name: str) -> None:
    """In the docstring of the class: ``help`` shows it there."""
    kind = PUBLIC[name]
    constructor = kind.__init__
    if not inspect.isfunction(constructor) or not own(kind) or dataclasses.is_dataclass(kind):
        return
    if not constructor.__module__.startswith("zkconsumer"):
        return
    parameters = [name for name in inspect.signature(constructor).parameters if name != "self"]
    assert entries(doc(kind), "Args") == parameters


def named_errors() -> Iterator[tuple[str, str]]:
    """Each error that a docstring names, and where."""
    for name, kind in sorted(PUBLIC.items()):
        for error in entries(doc(kind), "Raises"):
            yield name, error
        for method, function in methods(kind).items():
            for error in entries(doc(function), "Raises"):
                yield f"{name}.{method}", error


def test_every_error_that_is_named_can_be_imported() -> None:
    """From ``zkconsumer`` if it is ours: who reads of it will want to catch it."""
    missing = {
        error: where
        for where, error in named_errors()
        if "." not in error and error not in PUBLIC and not hasattr(builtins, error)
    }
    assert missing == {}


# --- what is raised is named -----------------------------------------------------------------


def is_named(error: BaseException, function: Callable[..., object]) -> bool:
    """Whether a docstring names an error, or a base that callers would catch it by."""
    known = {**vars(builtins), **PUBLIC}
    kinds = [known[name] for name in entries(doc(function), "Raises") if name in known]
    return isinstance(error, tuple(kind for kind in kinds if kind is not Exception))


def provoke(call: Callable[..., object], *values: object, **named: object) -> BaseException | None:
    """What a call raises."""
    try:
        call(*values, **named)
    except Exception as error:  # noqa: BLE001 - it is what is looked for
        return error
    return None


SOUND: dict[str, dict[str, Any]] = {
    "assign": {"partitions": [CP]},
    "beginning_offsets": {"partitions": [CP]},
    "commit": {"offsets": None},
    "commit_async": {"offsets": None},
    "committed": {"partition": CP},
    "create_message_streams": {"topic_counts": {"clicks": 1}},
    "create_message_streams_by_filter": {"topic_filter": zkconsumer.Whitelist("clicks")},
    "end_offsets": {"partitions": [CP]},
    "flush": {},
    "highwater": {"partition": CP},
    "offsets_for_times": {"timestamps": {CP: 0}},
    "partitions_for": {"topic": "clicks"},
    "partitions_for_topic": {"topic": "views"},
    "position": {"partition": CP},
    "seek": {"partition": CP, "offset": 0},
    "send": {"topic": "clicks", "value": b"1"},
    "set_consumer_rebalance_listener": {"listener": None},
    "subscribe": {"topics": ["clicks"]},
}
"""Arguments that are right, of methods that need any."""
ENDING = {"close"}
FLAGS = {"metadata", "raw", "refresh", "update_offsets"}
"""Arguments that are true or false, as anything is."""


def called(face: object, name: str) -> BaseException | None:
    """What a method raises that gets sound arguments; those of coroutines are of other methods."""
    if inspect.iscoroutinefunction(getattr(face, name)):
        return None
    return provoke(getattr(face, name), **SOUND.get(name, {}))


def with_argument(
    face: object, name: str, parameter: inspect.Parameter, value: object
) -> BaseException | None:
    """What a method raises that gets sound arguments but for one."""
    method = getattr(face, name)
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return provoke(method, value)
    return provoke(method, **{**SOUND.get(name, {}), parameter.name: value})


def unnamed(face: object, errors: Mapping[str, BaseException | None]) -> dict[str, str]:
    """Errors of methods whose docstrings don't name them."""
    return {
        name: f"{type(error).__name__}: {error}"
        for name, error in errors.items()
        if error is not None and not is_named(error, methods(type(face))[name])
    }


@pytest.fixture
def names() -> Iterator[Mapping[str, Any]]:
    """A consumer, a producer and a stream of a cluster in memory."""
    with documented_names() as found:
        yield found


def test_a_call_names_what_wrong_arguments_raise(names: Mapping[str, Any]) -> None:
    """Each argument in its turn; nonsense that no method can mean."""
    consumer: KafkaConsumer = names["consumer"]
    next(consumer)
    for face in (consumer, names["producer"]):
        for name, function in methods(type(face)).items():
            for parameter in inspect.signature(function).parameters.values():
                if name in ENDING or parameter.name in {"self", *FLAGS}:
                    continue
                for nonsense in (object(), -5, [object()]):
                    error = with_argument(face, name, parameter, nonsense)
                    assert unnamed(face, {name: error}) == {}, parameter


@pytest.mark.parametrize(
    ("which", "refused"),
    [("consumer", "poll"), ("producer", "flush"), ("connector", "create_message_streams")],
)
def test_a_call_names_what_it_raises_after_the_end(
    names: Mapping[str, Any], which: str, refused: str
) -> None:
    """``ConsumerClosed`` in most."""
    face = names[which]
    face.__exit__(None, None, None)
    errors = {name: called(face, name) for name in methods(type(face))}
    assert isinstance(errors[refused], zkconsumer.ConsumerClosed)
    assert unnamed(face, errors) == {}


def test_a_call_names_what_a_second_thread_gets(names: Mapping[str, Any]) -> None:
    """While another one is in a call."""
    consumer: KafkaConsumer = names["consumer"]
    next(consumer)
    calls = set(methods(KafkaConsumer)) - ENDING
    with consumer._parts.one_caller, ThreadPoolExecutor(1) as other:
        errors = {name: other.submit(called, consumer, name).result(60) for name in calls}
    assert isinstance(errors["poll"], zkconsumer.IllegalState)
    assert unnamed(consumer, errors) == {}


def test_a_call_names_what_a_forked_child_gets(names: Mapping[str, Any]) -> None:
    """``ConsumerForked``, wherever a lock or a thread of the parent would be needed."""
    for face, guard in (
        (names["consumer"], names["consumer"]._parts.one_caller._guard),
        (names["producer"], names["producer"]._guard),
        (names["connector"], names["connector"]._parts.context.fork_guard),
    ):
        guard.forked = True
        try:
            errors = {name: called(face, name) for name in methods(type(face))}
        finally:
            guard.forked = False
        assert unnamed(face, errors) == {}
