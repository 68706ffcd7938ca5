"""The messages inside a message, each with its path; those packed in an Any are opened."""

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from google.protobuf import message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from certwright.xds.schema.errors import join

Message: TypeAlias = Any
"""A message of a type known at run time only."""
JsonValue: TypeAlias = dict[str, Any]
"""A JSON object that is to become a message."""

ANY = "google.protobuf.Any"
_OPAQUE = ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue")


class Place(NamedTuple):
    """A message and where it is."""

    path: str
    message: Message


def walk(pool: DescriptorPool, message: Message, path: str = "") -> Iterator[Place]:
    """Yield a message and all that are in it, from the outside to the inside."""
    opened = unpack(pool, message)
    if opened is None or opened.DESCRIPTOR.full_name in _OPAQUE:
        return
    yield Place(path, opened)
    for field, value in opened.ListFields():
        if field.message_type is None:
            continue
        place = join(path, field.name)
        if is_map(field):
            if field.message_type.fields_by_name["value"].message_type is not None:
                for key in value:
                    yield from walk(pool, value[key], f'{place}["{key}"]')
        elif field.is_repeated:
            for index, item in enumerate(value):
                yield from walk(pool, item, f"{place}[{index}]")
        else:
            yield from walk(pool, value, place)


def is_map(field: Any) -> bool:
    """Return whether a field is a map."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def unpack(pool: DescriptorPool, message: Message) -> Message | None:
    """Return what an Any holds, None if its type is unknown; any other message as it is."""
    while message.DESCRIPTOR.full_name == ANY:
        name = message.type_url.rpartition("/")[2]
        try:
            made = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))()
            made.ParseFromString(message.value)
        except (KeyError, DecodeError):
            return None
        message = made
    return message
