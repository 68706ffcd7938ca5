"""Messages with one rule broken, made from the rules themselves."""

from collections.abc import Iterator
from typing import Any

from certwright.xds.schema.constraints import Constraints
from certwright.xds.schema.errors import FieldProblem, join
from certwright.xds.schema.schema import MessageSchema
from certwright.xds.schema.walk import ANY, Message, is_map, unpack

_NUMBERS = (-(2**31), 0, 1, 65536, 2**31 - 1, 2**32 - 1)
_TEXTS = ("", "a\n", "\x00", "x" * 20_000, "ä ,;", "/")
_PER_FIELD = 3
_DURATIONS = ((0, 0), (-1, 0), (0, 1), (10**9, 0))


def mutants(schema: MessageSchema, message: Message) -> Iterator[tuple[str, Message]]:
    """Yield copies of a message in which one field breaks a rule, and the path of that field."""
    constraints: Constraints = schema._constraints
    yield from _of(schema, constraints, message, "")


def _of(
    schema: MessageSchema, constraints: Constraints, message: Message, path: str
) -> Iterator[tuple[str, Message]]:
    if message.DESCRIPTOR.full_name == ANY:
        inner = unpack(schema.pool, message)
        for place, changed in _of(schema, constraints, inner, path) if inner is not None else ():
            copy = _copy(message)
            copy.value = changed.SerializeToString()
            yield place, copy
        return
    list(constraints.problems(message))  # reads the rules of the types in it
    name = message.DESCRIPTOR.full_name
    for oneof in constraints._oneofs.get(name, ()):
        if (chosen := message.WhichOneof(oneof)) is not None:
            copy = _copy(message)
            copy.ClearField(chosen)
            yield join(path, oneof), copy
    for field, _ in constraints._fields.get(name, ()):
        yield from _broken(constraints, message, field, join(path, field.name))
    for field, value in message.ListFields():
        yield from _inside(schema, constraints, message, field, value, join(path, field.name))


def _inside(
    schema: MessageSchema,
    constraints: Constraints,
    message: Message,
    field: Any,
    value: Any,
    path: str,
) -> Iterator[tuple[str, Message]]:
    if field.message_type is None or is_map(field):
        return
    if not field.is_repeated:
        for place, changed in _of(schema, constraints, value, path):
            copy = _copy(message)
            getattr(copy, field.name).CopyFrom(changed)
            yield place, copy
        return
    for index, item in enumerate(value):
        for place, changed in _of(schema, constraints, item, f"{path}[{index}]"):
            copy = _copy(message)
            getattr(copy, field.name)[index].CopyFrom(changed)
            yield place, copy


def _broken(
    constraints: Constraints, message: Message, field: Any, path: str
) -> Iterator[tuple[str, Message]]:
    """Yield copies in which this field, and nothing else, breaks its rules."""
    good = {str(one) for one in constraints.problems(message)}
    found: list[FieldProblem] = []
    made = 0
    for change in _changes(field):
        if field.containing_oneof is not None and not message.HasField(field.name):
            continue  # another one of the group is set
        copy = _copy(message)
        try:
            change(copy)
        except (ValueError, TypeError):
            continue
        found = [one for one in constraints.problems(copy) if str(one) not in good]
        if found and all(one.path.startswith(field.name) for one in found):
            yield path, copy
            made += 1
        if made == _PER_FIELD:
            return


def _changes(field: Any) -> Iterator[Any]:
    name = field.name
    if field.is_repeated:
        yield lambda copy: copy.ClearField(name)
        if field.message_type is None:
            for text in _TEXTS:
                yield lambda copy, text=text: getattr(copy, name).append(text)
            for number in _NUMBERS:
                yield lambda copy, number=number: getattr(copy, name).append(number)
        return
    if field.message_type is not None:
        yield lambda copy: copy.ClearField(name)
        if field.message_type.full_name == "google.protobuf.Duration":
            for seconds, nanos in _DURATIONS:
                yield lambda copy, s=seconds, n=nanos: _set(getattr(copy, name), seconds=s, nanos=n)
        elif field.message_type.full_name.endswith("Value"):
            for number in _NUMBERS:
                yield lambda copy, number=number: _set(getattr(copy, name), value=number)
        return
    for value in (*_TEXTS, *_NUMBERS):
        yield lambda copy, value=value: setattr(copy, name, value)


def _set(message: Message, **values: Any) -> None:
    message.SetInParent()
    for name, value in values.items():
        setattr(message, name, value)


def _copy(message: Message) -> Message:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy
