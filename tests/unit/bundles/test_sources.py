"""Bundles in folders: one bad file stops no other, and the reason is kept."""

from pathlib import Path

import pytest
from tests.support.bundles.small import small_bundle

from certwright.bundles.bundle import MOST_BYTES, encode, make_bundle
from certwright.bundles.catalogue import load
from certwright.bundles.errors import BundleCorrupt, BundleMissing, BundleTooLarge
from certwright.bundles.sources import (
    BundleSet,
    PackedBundle,
    bundle_set,
    file_name,
    read_file,
    read_folder,
)


def put(folder: Path, version: str, data: bytes | None = None) -> Path:
    path = folder / file_name(version)
    path.write_bytes(encode(small_bundle(version)) if data is None else data)
    return path


def found_in(folder: Path) -> BundleSet:
    return bundle_set(read_folder(folder), load())


def test_the_bundles_of_a_folder(tmp_path: Path) -> None:
    put(tmp_path, "v9.10.0")
    put(tmp_path, "v9.9.1")
    (tmp_path / "README.md").write_text("no bundle")
    found = found_in(tmp_path)
    assert found.versions == ("v9.9.1", "v9.10.0")
    assert not found.errors
    assert found.get("v9.9.1") == small_bundle()


def test_a_missing_version_names_those_there_are_and_the_command(tmp_path: Path) -> None:
    put(tmp_path, "v9.9.1")
    with pytest.raises(BundleMissing) as missing:
        found_in(tmp_path).get("v1.21.2")
    assert missing.value.reason == "BundleMissing"
    assert str(missing.value) == (
        "no bundle of cert-manager v1.21.2 (there are: v9.9.1); run: certwright bundle build"
        " v1.21.2, then: certwright bundle publish v1.21.2"
    )
    with pytest.raises(BundleMissing, match="there are: none"):
        BundleSet({}).get("v1.21.2")


def test_a_damaged_file_is_an_error_of_its_version_only(tmp_path: Path) -> None:
    put(tmp_path, "v9.9.1")
    put(tmp_path, "v9.9.2", b"nonsense")
    put(tmp_path, "v9.9.3", b"x" * (MOST_BYTES + 5))
    cut = put(tmp_path, "v9.9.4")
    cut.write_bytes(cut.read_bytes()[:-5])
    found = found_in(tmp_path)
    assert found.get("v9.9.1") == small_bundle()
    with pytest.raises(BundleCorrupt, match=r"v9\.9\.2\.bundle: not a bundle.* build v9\.9\.2$"):
        found.get("v9.9.2")
    with pytest.raises(BundleTooLarge):
        found.get("v9.9.3")
    with pytest.raises(BundleCorrupt, match=r"truncated.* build v9\.9\.4$"):
        found.get("v9.9.4")


def test_other_contents_than_released_are_an_error(tmp_path: Path) -> None:
    """A digest that fits the contents is not enough: anybody can compute one."""
    put(tmp_path, "v1.21.2")
    found = found_in(tmp_path)
    assert not found.versions
    with pytest.raises(BundleCorrupt, match=r"not cert-manager v1\.21\.2 as it was released"):
        found.get("v1.21.2")


def test_the_last_of_several_counts() -> None:
    first = PackedBundle.read(encode(small_bundle()), "a")
    other = make_bundle("v9.9.1", small_bundle().objects[:-1])
    last = PackedBundle.read(encode(other), "b")
    assert bundle_set([first, last], load()).get("v9.9.1") == other
    assert bundle_set([last, first], load()).get("v9.9.1") == small_bundle()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    (error,) = read_folder(tmp_path / "gone")
    assert isinstance(error, BundleCorrupt)
    assert "gone: cannot be read: No such file or directory" in str(error)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / file_name("v9.9.1")).mkdir()
    with pytest.raises(BundleCorrupt, match=r"Is a directory; .* build v9\.9\.1"):
        read_file(tmp_path / file_name("v9.9.1"))


def test_contents_do_not_reach_the_text_of_a_bundle() -> None:
    packed = PackedBundle.read(encode(small_bundle()), "a")
    assert "\\x" not in repr(packed)
    assert "Deployment" not in repr(packed.unpack())
