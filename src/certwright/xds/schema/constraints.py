"""Whether a message keeps the rules of its type: every field, at any depth, also inside an Any."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool

from certwright.xds.schema.errors import FieldProblem, join
from certwright.xds.schema.rules import FieldRules, read_rules
from certwright.xds.schema.walk import Message, is_map, walk

_WRAPPED: Final = "google.protobuf."


class Constraints:
    """Checks messages; reads the rules of each type once."""

    def __init__(self, pool: DescriptorPool) -> None:
        self._pool = pool
        self._fields: dict[str, tuple[tuple[Any, FieldRules], ...]] = {}
        self._oneofs: dict[str, tuple[str, ...]] = {}
        self._extension: Any = None
        try:
            self._extension = pool.FindExtensionByName("validate.rules")
            self._required: Any = pool.FindExtensionByName("validate.required")
            self._disabled: list[Any] = [
                pool.FindExtensionByName(f"validate.{name}") for name in ("disabled", "ignored")
            ]
        except KeyError:
            return  # a schema without rules
        message_factory.GetMessageClass(self._extension.message_type)

    def problems(self, message: Message) -> Iterator[FieldProblem]:
        """Yield the fields that break a rule."""
        if self._extension is None:
            return
        for path, part in walk(self._pool, message):
            yield from self._own_problems(path, part)

    def count(self) -> int:
        """Return how many fields have rules, of the types looked at so far."""
        return sum(len(rules) for rules in self._fields.values())

    def _own_problems(self, path: str, message: Message) -> Iterator[FieldProblem]:
        name = message.DESCRIPTOR.full_name
        if name not in self._fields:
            self._read(message.DESCRIPTOR)
        for oneof in self._oneofs[name]:
            if message.WhichOneof(oneof) is None:
                yield FieldProblem(join(path, oneof), "one of its fields must be set")
        for field, rules in self._fields[name]:
            yield from _field_problems(message, field, rules, join(path, field.name))

    def _read(self, descriptor: Any) -> None:
        """Read the rules of one type."""
        name = descriptor.full_name
        options = self._options("MessageOptions", descriptor)
        if any(options.Extensions[one] for one in self._disabled):
            self._fields[name], self._oneofs[name] = (), ()
            return
        found = []
        for field in descriptor.fields:
            given = self._options("FieldOptions", field)
            if given.HasExtension(self._extension):
                rules = read_rules(given.Extensions[self._extension])
                found.append((field, _with_enum(field, rules, given.Extensions[self._extension])))
        self._fields[name] = tuple(found)
        self._oneofs[name] = tuple(
            oneof.name
            for oneof in descriptor.oneofs
            if self._options("OneofOptions", oneof).Extensions[self._required]
        )

    def _options(self, kind: str, descriptor: Any) -> Any:
        """Return options with the extensions of this pool; the library's own do not know them."""
        made = message_factory.GetMessageClass(
            self._pool.FindMessageTypeByName(f"google.protobuf.{kind}")
        )()
        made.ParseFromString(descriptor.GetOptions().SerializeToString())
        return made


def _with_enum(field: Any, rules: FieldRules, given: Any) -> FieldRules:
    """Return the rules, completed by those that need to know the values of an enum."""
    if field.enum_type is None:
        return rules
    numbers = {value.number for value in field.enum_type.values}
    words = f"must be a value of {field.enum_type.full_name}"

    def check(value: Any) -> str:
        return "" if value in numbers else words

    if given.HasField("enum") and given.enum.defined_only:
        return replace(rules, value=(*rules.value, check))
    if rules.items is not None and given.repeated.items.enum.defined_only:
        return replace(rules, items=replace(rules.items, value=(*rules.items.value, check)))
    return rules


def _field_problems(
    message: Message, field: Any, rules: FieldRules, path: str
) -> Iterator[FieldProblem]:
    if field.is_repeated:
        yield from _many_problems(getattr(message, field.name), field, rules, path)
        return
    if field.has_presence and not message.HasField(field.name):
        if rules.required and field.containing_oneof is None:  # else another may be set
            yield FieldProblem(path, "is required")
        return
    value = getattr(message, field.name)
    for problem in rules.problems(_plain(field.message_type, value)):
        yield FieldProblem(path, problem)


def _many_problems(values: Any, field: Any, rules: FieldRules, path: str) -> Iterator[FieldProblem]:
    for problem in rules.problems(values):
        yield FieldProblem(path, problem)
    if is_map(field):
        kind = field.message_type.fields_by_name["value"].message_type
        for key in values:
            place = f'{path}["{key}"]'
            for problem in rules.keys.problems(key) if rules.keys else ():
                yield FieldProblem(path, f"a key {problem}")
            for problem in rules.items.problems(_plain(kind, values[key])) if rules.items else ():
                yield FieldProblem(place, problem)
    elif rules.items is not None:
        for index, item in enumerate(values):
            for problem in rules.items.problems(_plain(field.message_type, item)):
                yield FieldProblem(f"{path}[{index}]", problem)


def _plain(message_type: Any, value: Any) -> Any:
    """Return the value in a wrapper such as UInt32Value; any other as it is."""
    if message_type is None or not message_type.full_name.startswith(_WRAPPED):
        return value
    return value.value if message_type.full_name.endswith("Value") else value
