"""Which fields of a JSON value keep it from being a message, where the library says only that.

Looked for after a conversion failed, in one pass: each field is looked up in its type, and each
value that is not an object itself is converted alone.
"""

from collections.abc import Iterator
from typing import Any, Final

from google.protobuf import json_format, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pool import DescriptorPool

from certwright.xds.schema.errors import FieldProblem, join
from certwright.xds.schema.walk import ANY, is_map

CONVERSION_ERRORS: Final = (
    json_format.Error, TypeError, ValueError, AttributeError, RecursionError,
)  # fmt: skip
"""What the library raises for values that do not fit; it does not catch all that it meets."""
_WELL_KNOWN: Final = "google.protobuf."
_NAMES: Final = {
    FieldDescriptor.CPPTYPE_BOOL: "true or false",
    FieldDescriptor.CPPTYPE_STRING: "a text",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_FLOAT: "a number",
    FieldDescriptor.CPPTYPE_INT32: "a whole number of 32 bits",
    FieldDescriptor.CPPTYPE_INT64: "a whole number of 64 bits",
    FieldDescriptor.CPPTYPE_UINT32: "a whole number of 32 bits, not negative",
    FieldDescriptor.CPPTYPE_UINT64: "a whole number of 64 bits, not negative",
}


class Locator:
    """Finds what is wrong with a value that was to become a message."""

    def __init__(self, pool: DescriptorPool) -> None:
        self._pool = pool

    def problems(self, descriptor: Any, value: Any, path: str = "") -> Iterator[FieldProblem]:
        """Yield the fields that do not fit."""
        name = descriptor.full_name
        if name == ANY:
            yield from self._packed(value, path)
        elif name.startswith(_WELL_KNOWN):
            if not self._fits(descriptor, value):
                yield FieldProblem(path, f"is not a valid {name}")
        elif not isinstance(value, dict):
            yield FieldProblem(path, f"must be an object: {name}")
        else:
            yield from self._fields(descriptor, value, path)

    def _fields(self, descriptor: Any, value: dict[str, Any], path: str) -> Iterator[FieldProblem]:
        known = {field.json_name: field for field in descriptor.fields}
        known |= {field.name: field for field in descriptor.fields}
        seen: dict[str, str] = {}
        for name, part in value.items():
            place = join(path, name)
            field = known.get(name)
            if field is None:
                yield FieldProblem(place, f"{descriptor.full_name} has no such field")
                continue
            group = field.containing_oneof.full_name if field.containing_oneof else field.full_name
            other = seen.setdefault(group, name) if part is not None else name
            if other != name:
                yield FieldProblem(place, f"cannot be set beside {other}")
            if part is not None:
                yield from self._value(descriptor, field, part, place)

    def _value(self, descriptor: Any, field: Any, value: Any, path: str) -> Iterator[FieldProblem]:
        if is_map(field):
            yield from self._map(field, value, path)
        elif field.is_repeated:
            if not isinstance(value, list):
                yield FieldProblem(path, "must be a list")
                return
            for index, item in enumerate(value):
                yield from self._single(descriptor, field, item, [item], f"{path}[{index}]")
        else:
            yield from self._single(descriptor, field, value, value, path)

    def _map(self, field: Any, value: Any, path: str) -> Iterator[FieldProblem]:
        if not isinstance(value, dict):
            yield FieldProblem(path, "must be an object")
            return
        entry = field.message_type
        for key, part in value.items():
            place = f'{path}["{key}"]'
            yield from self._single(entry, entry.fields_by_name["value"], part, part, place)

    def _single(
        self, descriptor: Any, field: Any, item: Any, whole: Any, path: str
    ) -> Iterator[FieldProblem]:
        """Check one value; *whole* is what the field would be, had it this value only."""
        if field.message_type is not None:
            yield from self.problems(field.message_type, item, path)
        elif not self._fits(descriptor, {field.name: whole}):
            if field.enum_type is not None:
                yield FieldProblem(path, f"must be a value of {field.enum_type.full_name}")
            else:
                yield FieldProblem(path, f"must be {_NAMES[field.cpp_type]}")

    def _packed(self, value: Any, path: str) -> Iterator[FieldProblem]:
        if not isinstance(value, dict):
            yield FieldProblem(path, "must be an object with @type")
            return
        url = value.get("@type")
        if not value:
            return
        try:
            descriptor = self._pool.FindMessageTypeByName(str(url).rpartition("/")[2])
        except KeyError:
            problem = "is not a type of this schema" if url else "is missing"
            yield FieldProblem(join(path, "@type"), problem)
            return
        inner = {name: part for name, part in value.items() if name != "@type"}
        if descriptor.full_name.startswith(_WELL_KNOWN):
            yield from self.problems(descriptor, inner.get("value"), join(path, "value"))
        else:
            yield from self._fields(descriptor, inner, path)

    def _fits(self, descriptor: Any, value: Any) -> bool:
        message = message_factory.GetMessageClass(descriptor)()
        try:
            json_format.ParseDict(value, message, descriptor_pool=self._pool)
        except CONVERSION_ERRORS:
            return False
        return True
