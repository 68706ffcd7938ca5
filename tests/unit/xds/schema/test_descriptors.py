"""Descriptors found in a program, and in the modules of a package."""

from pathlib import Path

import pytest
from tests.support.envoy.resources import cluster
from tests.support.envoy.smallschema import small_descriptors

from certwright.xds.schema.descriptors import (
    complete,
    descriptors_in_binary,
    descriptors_in_package,
    envoy_version,
    find_descriptors,
    with_envoy_version,
)
from certwright.xds.schema.errors import SchemaUnusable
from certwright.xds.schema.references import CLUSTER
from certwright.xds.schema.schema import MessageSchema

FILES = {file.name: file.SerializeToString() for file in small_descriptors().file}
NOISE = b"\x7fELF\x00\x0a\x0bsomething.proto\x00" + bytes(range(256))


def program() -> bytes:
    return NOISE + (b"\x00" * 7).join(FILES.values()) + NOISE


def test_descriptors_in_a_program_are_found_whole() -> None:
    found = find_descriptors(program())
    assert found.keys() == FILES.keys()
    assert found["envoy/small.proto"] == FILES["envoy/small.proto"]
    assert found["validate/validate.proto"] == FILES["validate/validate.proto"]


def test_of_two_with_one_name_the_longer_one_counts() -> None:
    short = b"\x0a\x11envoy/small.proto\x62\x06proto3"
    found = find_descriptors(short + b"\x00" + program() + short)
    assert found["envoy/small.proto"] == FILES["envoy/small.proto"]


def test_a_program_cut_anywhere_harms_nothing() -> None:
    whole = program()
    for end in range(0, len(whole), 211):
        find_descriptors(whole[:end])


def test_a_schema_comes_out_of_a_program(tmp_path: Path) -> None:
    binary, file = tmp_path / "envoy", tmp_path / "schema"
    binary.write_bytes(program())
    file.write_bytes(descriptors_in_binary(binary).SerializeToString())
    assert MessageSchema.read(file).make(CLUSTER, cluster("x")).name == "x"


def test_what_is_no_envoy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaUnusable, match="cannot be read"):
        descriptors_in_binary(tmp_path / "missing")
    other = tmp_path / "other"
    other.write_bytes(NOISE)
    with pytest.raises(SchemaUnusable, match="is it an Envoy"):
        descriptors_in_binary(other)
    with pytest.raises(SchemaUnusable, match="certwright xds schema"):
        MessageSchema.read(other)
    with pytest.raises(SchemaUnusable, match="does not hold the modules"):
        descriptors_in_package(tmp_path)


def test_a_file_without_what_it_needs_is_left_out() -> None:
    some = {name: blob for name, blob in FILES.items() if name != "google/protobuf/any.proto"}
    assert "envoy/small.proto" not in {file.name for file in complete(some).file}


def test_modules_of_a_package_are_read_without_running_them(tmp_path: Path) -> None:
    folder = tmp_path / "envoy"
    folder.mkdir()
    for number, blob in enumerate(FILES.values()):
        text = f"raise SystemExit\nDESCRIPTOR = pool.Default().AddSerializedFile({blob!r})\n"
        (folder / f"m{number}_pb2.py").write_text(text)
    names = {file.name for file in descriptors_in_package(tmp_path).file}
    assert "envoy/small.proto" in names


def test_the_second_api_is_left_out() -> None:
    old = b"\x0a\x1aenvoy/api/v2/cluster.proto\x62\x06proto3"
    assert not complete(find_descriptors(old)).file
    assert not complete({"envoy/config/filter/v2/x.proto": FILES["envoy/small.proto"]}).file


def test_a_set_says_which_envoy_it_was_taken_from() -> None:
    files = small_descriptors()
    assert envoy_version(files) == ""
    marked = with_envoy_version(files, "1.40.0")
    assert envoy_version(marked) == MessageSchema(marked).envoy == "1.40.0"
    assert len(marked.file) == len(files.file) + 1
    assert with_envoy_version(files, "") == files
