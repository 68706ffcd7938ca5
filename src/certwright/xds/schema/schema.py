"""The schema of Envoy's messages: a set of file descriptors, and what is made with it.

It is data. It comes from the Envoy in use or from the package of its messages (`descriptors`), is
kept in a file, and a process is given that file. JSON becomes messages with it, and nothing that
the types do not allow gets through.
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from google.protobuf import json_format, message_factory
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError

from certwright.xds.schema.constraints import Constraints
from certwright.xds.schema.descriptors import LARGEST_SET, envoy_version
from certwright.xds.schema.errors import FieldProblem, ResourceRefused, SchemaUnusable
from certwright.xds.schema.location import CONVERSION_ERRORS, Locator
from certwright.xds.schema.walk import JsonValue, Message, Place, walk

DEEPEST: Final = 80
"""Levels of objects and lists in a resource; Envoy reads at most 100 levels of messages."""
MOST_PROBLEMS: Final = 10
"""Of one resource: a message is to be read by people."""


class MessageSchema:
    """Makes messages of JSON and checks them."""

    def __init__(self, files: FileDescriptorSet) -> None:
        """Use a set of descriptors.

        Raises:
            SchemaUnusable: a file is missing that another one needs.
        """
        self.pool = DescriptorPool()
        for file in files.file:
            try:
                self.pool.AddSerializedFile(file.SerializeToString())
            except TypeError as error:
                raise SchemaUnusable(
                    f"{file.name} cannot be added to the schema: {error}"
                ) from None
        self.envoy = envoy_version(files)
        """The version of the Envoy that it was taken from; empty if that is not known."""
        self._locator = Locator(self.pool)
        self._constraints = Constraints(self.pool)

    @classmethod
    def read(cls, path: Path) -> "MessageSchema":
        """Return the schema in a file, as ``certwright xds schema`` writes it.

        Raises:
            SchemaUnusable: it cannot be read, or is no schema.
        """
        try:
            if path.stat().st_size > LARGEST_SET:
                raise SchemaUnusable(f"{path} is larger than {LARGEST_SET >> 20} MiB")
            files = FileDescriptorSet.FromString(path.read_bytes())
        except OSError as error:
            raise SchemaUnusable(f"{path} cannot be read: {error.strerror or error}") from None
        except DecodeError:
            raise SchemaUnusable(
                f"{path} is not a set of file descriptors; make one with"
                " certwright xds schema --envoy PATH"
            ) from None
        return cls(files)

    def has(self, name: str) -> bool:
        """Return whether there is a message of this name."""
        try:
            self.pool.FindMessageTypeByName(name)
        except KeyError:
            return False
        return True

    def parse(self, name: str, value: JsonValue) -> Message:
        """Return the message of a type that a JSON object stands for, unchecked by its rules.

        Raises:
            ResourceRefused: a field or ``@type`` is unknown, or a value is of the wrong type.
            SchemaUnusable: there is no such type.
        """
        try:
            descriptor = self.pool.FindMessageTypeByName(name)
        except KeyError:
            raise SchemaUnusable(f"the schema has no message {name}") from None
        if is_deeper(value, DEEPEST):
            raise ResourceRefused([FieldProblem("", f"is nested deeper than {DEEPEST} levels")])
        message = message_factory.GetMessageClass(descriptor)()
        try:
            json_format.ParseDict(value, message, descriptor_pool=self.pool)
        except CONVERSION_ERRORS:
            # Without its cause, whose text shows values.
            found = list(islice(self._locator.problems(descriptor, value), MOST_PROBLEMS))
            unknown = FieldProblem("", f"is not a valid {name}")
            raise ResourceRefused(found or [unknown]) from None
        return message

    def problems(self, message: Message) -> Iterator[FieldProblem]:
        """Yield the fields of a message that break the rules of their types."""
        return self._constraints.problems(message)

    def walk(self, message: Message) -> Iterator[Place]:
        """Yield a message and all that are in it, with their paths."""
        return walk(self.pool, message)

    def make(self, name: str, value: JsonValue) -> Message:
        """Return the message that a JSON object stands for, if it keeps all rules.

        Raises:
            ResourceRefused: it does not; the problems name the fields.
            SchemaUnusable: there is no such type.
        """
        message = self.parse(name, value)
        if found := list(islice(self.problems(message), MOST_PROBLEMS)):
            raise ResourceRefused(found)
        return message

    def as_json(self, message: Message) -> JsonValue:
        """Return a message as JSON, with the names that Envoy's documentation uses."""
        made: JsonValue = json_format.MessageToDict(
            message, preserving_proto_field_name=True, descriptor_pool=self.pool
        )
        return made


def is_deeper(value: Any, levels: int) -> bool:
    """Return whether objects and lists are nested deeper than so many levels."""
    below = [value]
    for _ in range(levels + 1):
        below = [
            part
            for whole in below
            if isinstance(whole, dict | list)
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
        if not below:
            return False
    return True
