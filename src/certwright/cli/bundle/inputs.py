"""Which bundles are meant: files, or versions in a folder."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from certwright.bundles.bundle import SUFFIX, Bundle
from certwright.bundles.catalogue import Catalogue, UnknownVersion, load
from certwright.bundles.errors import BundleError, BundleMissing
from certwright.bundles.sources import BundleSet, PackedBundle, bundle_set, read_file, read_folder
from certwright.cli.errors import UsageError


@contextmanager
def explained() -> Iterator[None]:
    """Report what is wrong with a bundle as a mistake that a person can correct."""
    try:
        yield
    except (BundleError, UnknownVersion) as error:
        raise UsageError(str(error)) from error


def packed_bundles(
    names: Iterable[str], folder: Path, catalogue: Catalogue | None = None
) -> list[PackedBundle]:
    """Return bundles that were named by file or by version; `BundleError` if one is not there.

    A file may hold what the catalogue does not know, but no other contents than the catalogue
    knows for its version.
    """
    catalogue = catalogue or load()
    inside: BundleSet | None = None
    found = []
    for name in names:
        if name.endswith(SUFFIX) or "/" in name:
            packed = read_file(Path(name))
            catalogue.check(packed, packed.source)
            found.append(packed)
            continue
        inside = inside or bundle_set(read_folder(folder) if folder.is_dir() else [], catalogue)
        version = _version(name, inside, catalogue)
        if version not in inside.packed:
            inside.get(version)  # says what is wrong with it
        found.append(inside.packed[version])
    return found


def bundles(names: Iterable[str], folder: Path) -> list[Bundle]:
    """Return bundles that were named by file or by version, unpacked."""
    return [packed.unpack() for packed in packed_bundles(names, folder)]


def _version(name: str, inside: BundleSet, catalogue: Catalogue) -> str:
    """Return the version that is meant; others than the catalogue's are named in full."""
    if name in inside.packed:
        return name
    try:
        return catalogue.find(name)
    except UnknownVersion:
        raise BundleMissing(name, inside.versions, known=False) from None
