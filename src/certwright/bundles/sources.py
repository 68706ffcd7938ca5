"""Where bundles come from while an operator runs: a folder, and what others hand in.

Bundles stay packed until one is needed: a few are 100 KB, unpacked they are tens of megabytes.
What cannot be read is kept as an error of its version, and the others are there nonetheless.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from certwright.bundles.bundle import MOST_BYTES, SUFFIX, Bundle, decode, decode_header
from certwright.bundles.catalogue import Catalogue
from certwright.bundles.errors import BundleCorrupt, BundleError, BundleMissing
from certwright.bundles.versions import Release

PREFIX: Final = "cert-manager-"
"""How names of files begin."""
MOST_FILES: Final = 500
"""Of a folder; what is beyond is an error."""


@dataclass(frozen=True, slots=True)
class PackedBundle:
    """A bundle that is not unpacked yet."""

    source: str
    """The file or ConfigMap it is from, for messages."""
    version: str
    digest: str
    data: bytes = field(repr=False)

    @classmethod
    def read(cls, data: bytes, source: str, version: str = "") -> "PackedBundle":
        """Read the first line of a file; *version* is the expected one, for messages.

        Raises:
            BundleCorrupt: it is no bundle.
            BundleTooLarge: it is larger than any bundle.
        """
        try:
            header = decode_header(data, source)
        except BundleCorrupt as error:
            raise type(error)(source, error.problem, error.version or version) from None
        return cls(source, header.version, header.digest, data)

    def unpack(self) -> Bundle:
        """Return the bundle; `BundleError` if it is truncated or was edited."""
        return decode(self.data, self.source)


@dataclass(frozen=True, slots=True)
class BundleSet:
    """The bundles that can be used, and what is wrong with the others."""

    packed: Mapping[str, PackedBundle]
    """By version."""
    errors: tuple[BundleError, ...] = ()
    catalogue: Catalogue | None = field(default=None, compare=False)
    """Which versions can be built; None if that is not known."""

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions there are, oldest first."""
        return tuple(sorted(self.packed, key=Release.parse))

    def get(self, version: str) -> Bundle:
        """Return the bundle of a version.

        Raises:
            BundleMissing: there is none.
            BundleCorrupt: there is one, and it cannot be used.
        """
        if version in self.packed:
            return self.packed[version].unpack()
        for error in self.errors:
            if isinstance(error, BundleCorrupt) and error.version == version:
                raise error
        known = self.catalogue is None or version in self.catalogue.versions
        raise BundleMissing(version, self.versions, known=known)


def bundle_set(found: Iterable[PackedBundle | BundleError], catalogue: Catalogue) -> BundleSet:
    """Choose one bundle per version: of several, the last one counts.

    A bundle that claims to be a version of the catalogue and has other contents is an error.
    """
    packed: dict[str, PackedBundle] = {}
    errors: list[BundleError] = []
    for one in found:
        if isinstance(one, BundleError):
            errors.append(one)
            continue
        try:
            catalogue.check(one, one.source)
        except BundleError as error:
            errors.append(error)
        else:
            packed[one.version] = one
    return BundleSet(packed, tuple(errors), catalogue)


def read_folder(folder: Path) -> list[PackedBundle | BundleError]:
    """Return the bundles in a folder, by name, and an error for each that cannot be read."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    except OSError as error:
        return [_unreadable(folder, error)]
    found: list[PackedBundle | BundleError] = []
    if len(paths) > MOST_FILES:
        problem = f"{len(paths)} bundles, only the first {MOST_FILES} by name are read"
        found.append(BundleCorrupt(str(folder), problem))
    for path in paths[:MOST_FILES]:
        try:
            found.append(read_file(path))
        except BundleError as error:
            found.append(error)
    return found


def read_file(path: Path) -> PackedBundle:
    """Read one file; `BundleError` if it cannot be read or is no bundle."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    return PackedBundle.read(data, str(path), _version_in(path))


def file_name(version: str) -> str:
    """Return the name of the file for a version."""
    return f"{PREFIX}{version}{SUFFIX}"


def _version_in(path: Path) -> str:
    """Return the version that the name of a file promises, empty if none."""
    text = path.name.removeprefix(PREFIX).removesuffix(SUFFIX)
    try:
        return str(Release.parse(text))
    except ValueError:
        return ""


def _unreadable(path: Path, error: OSError) -> BundleCorrupt:
    return BundleCorrupt(str(path), f"cannot be read: {error.strerror or error}", _version_in(path))
