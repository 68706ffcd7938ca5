"""Where descriptors come from: the Envoy in use, or the package of Envoy's messages.

An Envoy carries the descriptors of all messages that it knows, as any program of protobuf does.
They are found by how each begins, its own name as first field, and by how it goes on: fields in
the order of their numbers.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from certwright.xds.schema.errors import SchemaUnusable

LARGEST_BINARY: Final = 2 << 30
LARGEST_SET: Final = 64 << 20
_LARGEST_FILE: Final = 4 << 20
_BEGINNING: Final = re.compile(rb"\x0a([\x07-\x7f])([A-Za-z][A-Za-z0-9_./-]{1,120}\.proto)")
_SYNTAX: Final = 12
_EDITION: Final = 14
_NUMBERS: Final = frozenset({10, 11, _EDITION})
"""Fields of a file that are numbers; the others have a length."""
_ROOTS: Final = ("envoy/", "xds/", "udpa/")
_OLD: Final = re.compile(r"^envoy/(api/v2/|.*/v2(alpha\d*)?/)")
"""Envoy no longer takes messages of its second API."""
_MODULE: Final = "*_pb2.py"
_MARK: Final = "certwright/envoy/"
_LONGEST_VERSION: Final = 50


def descriptors_in_binary(path: Path) -> FileDescriptorSet:
    """Return the descriptors that an Envoy carries.

    Raises:
        SchemaUnusable: the file cannot be read, or is no Envoy.
    """
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= LARGEST_BINARY else b""
    except OSError as error:
        raise SchemaUnusable(f"{path} cannot be read: {error.strerror or error}") from None
    files = find_descriptors(data)
    if not any(name.startswith("envoy/") for name in files):
        raise SchemaUnusable(f"{path} has no descriptors of Envoy's messages; is it an Envoy?")
    return complete(files)


def with_envoy_version(files: FileDescriptorSet, version: str) -> FileDescriptorSet:
    """Return a set that says which Envoy it was taken from, by the name of a file without messages.

    A set of descriptors has no other place for it that all readers leave alone.
    """
    marked = FileDescriptorSet(file=files.file)
    if version:
        marked.file.add(name=f"{_MARK}{version}.proto", syntax="proto3")
    return marked


def envoy_version(files: FileDescriptorSet) -> str:
    """Return the version of the Envoy that a set was taken from; empty if it does not say."""
    for file in files.file:
        if file.name.startswith(_MARK):
            return file.name.removeprefix(_MARK).removesuffix(".proto")[:_LONGEST_VERSION]
    return ""


def find_descriptors(data: bytes) -> dict[str, bytes]:
    """Return the file descriptors in a program, by name; of two with one name the longer."""
    found: dict[str, bytes] = {}
    for match in _BEGINNING.finditer(data):
        if match[1][0] != len(match[2]):
            continue
        blob = data[match.start() : _end_of_file(data, match.start())]
        try:
            file = FileDescriptorProto.FromString(blob)
        except DecodeError:
            continue
        if len(blob) > len(found.get(file.name, b"")):
            found[file.name] = blob
    return found


def _end_of_file(data: bytes, place: int) -> int:
    """Return where the descriptor ends that begins at *place*."""
    last = 0
    start = place
    while True:
        try:
            tag, after = _number(data, place)
            field, wire = tag >> 3, tag & 7
            if wire != (0 if field in _NUMBERS else 2) or not last <= field <= _EDITION:
                return place
            if field == last == 1 or not field:
                return place
            value, after = _number(data, after)
        except (IndexError, ValueError):
            return place
        after += 0 if field in _NUMBERS else value
        if after - start > _LARGEST_FILE or after > len(data):
            return place
        if field == _EDITION or (field == _SYNTAX and data[after - value : after] != b"editions"):
            return after
        place, last = after, field


def _number(data: bytes, place: int) -> tuple[int, int]:
    """Return the number at a place, as protobuf writes them, and where it ends."""
    value = 0
    for shift in range(0, 35, 7):
        byte = data[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
    raise ValueError("not a number")


def descriptors_in_package(folder: Path) -> FileDescriptorSet:
    """Return the descriptors in an installation of ``xds-protos``; *folder* holds ``envoy``.

    Its modules are read, not imported: it shares names with other packages.

    Raises:
        SchemaUnusable: there are none.
    """
    files: dict[str, bytes] = {}
    for path in sorted(folder.rglob(_MODULE)):
        for blob in _literals(path):
            try:
                files[FileDescriptorProto.FromString(blob).name] = blob
            except DecodeError:
                continue
    if not any(name.startswith("envoy/") for name in files):
        raise SchemaUnusable(f"{folder} does not hold the modules of the package xds-protos")
    return complete(files)


def _literals(path: Path) -> Iterator[bytes]:
    """Yield the descriptors in a module that protoc wrote."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".AddSerializedFile"):
            yield from (
                argument.value
                for argument in node.args
                if isinstance(argument, ast.Constant) and isinstance(argument.value, bytes)
            )


def complete(files: Mapping[str, bytes]) -> FileDescriptorSet:
    """Return the files of Envoy's current API and what they need, each after what it needs.

    A file that needs one that is not there is left out.
    """
    parsed = {name: FileDescriptorProto.FromString(blob) for name, blob in files.items()}
    order: dict[str, bool] = {}

    def add(name: str) -> bool:
        if name not in order:
            order[name] = False  # until its own needs are met
            file = parsed.get(name)
            fits = file is not None and all(map(add, file.dependency))
            del order[name]
            order[name] = fits
        return order[name]

    for name in sorted(parsed):
        if name.startswith(_ROOTS) and not _OLD.match(name):
            add(name)
    return FileDescriptorSet(file=[parsed[name] for name, fits in order.items() if fits])
