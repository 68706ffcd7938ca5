"""What is known about the versions of cert-manager, committed as data.

``catalogue.json`` says of each version which module it is published in and with which sum, and the
digest its bundle must have; of each minor version, which versions of Kubernetes upstream runs
it on and what to know before upgrading to it; of each flag and feature gate, in which minor
versions it exists. Tests compare all of it with the modules, but the flags of controller and
cainjector since 1.12: the code of the commands is not part of the published module any more, and
those flags were read from the sources of the releases.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Final, Literal, Protocol

import msgspec

from certwright.bundles.errors import BundleCorrupt
from certwright.bundles.versions import Minor, Release

COMPONENTS: Final = ("controller", "cainjector", "webhook")


class Digested(Protocol):
    """A bundle, packed or not."""

    @property
    def version(self) -> str:
        """The version it claims to be."""

    @property
    def digest(self) -> str:
        """The digest of its objects."""


class UnknownVersion(ValueError):
    """The catalogue does not have a version; the message lists those it has."""


class KubernetesWindow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The minor versions of Kubernetes that upstream supports, both included.

    Below *oldest* the objects may not even be accepted; above *newest* they usually work.
    """

    oldest: str
    newest: str

    def holds(self, version: str) -> bool:
        """Return whether a minor version such as ``1.36`` is one of them."""
        return Minor.parse(self.oldest) <= Minor.parse(version) <= Minor.parse(self.newest)


class FlagFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A flag of a component, and in which minor versions it exists."""

    name: str
    type: Literal["s", "b", "i", "f", "d", "l", "m"]
    """String, bool, int, float, duration, list of strings, map of strings."""
    style: Literal["comma", "repeat"] = "comma"
    """How several elements of a list are written: in one argument, or one argument each."""
    since: str = ""
    """Empty if it was there in 1.0."""
    removed: str = ""
    """The first minor version that refuses it; empty if it is still there."""
    deprecated: str = ""
    """The first minor version that advises against it."""
    hidden: bool = False
    """Accepted, and not shown by ``--help``."""

    def exists_in(self, minor: Minor) -> bool:
        """Return whether a minor version has it."""
        return _within(minor, self.since, self.removed)


class GateStage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How mature a feature is from a minor version on."""

    since: str
    stage: Literal["Alpha", "Beta", "GA", "Deprecated"]
    default: bool


class FeatureGate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A feature gate of a component, and in which minor versions it exists."""

    name: str
    stages: tuple[GateStage, ...]
    """First to last."""
    removed: str = ""

    def exists_in(self, minor: Minor) -> bool:
        """Return whether a minor version has it."""
        return _within(minor, self.stages[0].since, self.removed)

    def stage_in(self, minor: Minor) -> GateStage | None:
        """Return how mature it is in a minor version, None if that does not have it."""
        if not self.exists_in(minor):
            return None
        return [one for one in self.stages if Minor.parse(one.since) <= minor][-1]


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """What is known about one version."""

    version: str
    """With the leading ``v``."""
    module: str
    """The path of the Go module."""
    sum: str
    """What Go computes over the module, ``h1:`` and base64."""
    digest: str
    """The digest of its bundle."""
    kubernetes: KubernetesWindow
    notes: tuple[str, ...]
    """What to know before upgrading to its minor version."""


class _Version(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: str
    module: str
    sum: str
    digest: str


class _Minor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kubernetes: KubernetesWindow
    notes: tuple[str, ...]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    default: str
    versions: tuple[_Version, ...]
    minors: dict[str, _Minor]
    flags: dict[str, tuple[FlagFacts, ...]]
    gates: dict[str, tuple[FeatureGate, ...]]


class Catalogue:
    """All that is known, to be asked by version and component."""

    def __init__(self, content: bytes) -> None:
        """Read the file; `msgspec.MsgspecError` or `ValueError` if it is not one."""
        self._file = msgspec.json.decode(content, type=_File)
        self._facts = {one.version: self._facts_of(one) for one in self._file.versions}
        self.versions: tuple[str, ...] = tuple(sorted(self._facts, key=Release.parse))
        """Oldest first."""
        self.default: str = self.version(self._file.default).version
        """What is installed when no version is asked for."""
        self.minors: tuple[Minor, ...] = tuple(sorted(map(Minor.parse, self._file.minors)))
        """Oldest first."""

    def version(self, text: str) -> VersionFacts:
        """Return what is known about a version; `UnknownVersion` if it is not in the catalogue."""
        try:
            return self._facts[text]
        except KeyError:
            raise UnknownVersion(
                f"cert-manager {text[:50]} is not in the catalogue, which has"
                f" {', '.join(self.versions)}"
            ) from None

    def find(self, text: str) -> str:
        """Return the version that is meant by ``v1.21.2``, ``1.21.2``, ``v1.21`` or ``1.21``.

        Of a minor version it is the newest. Raises `UnknownVersion` if there is none.
        """
        full = f"v{text.removeprefix('v')}"
        fitting = [one for one in self.versions if one == full or one.startswith(f"{full}.")]
        return fitting[-1] if fitting else self.version(text).version

    def window(self, version: str) -> KubernetesWindow | None:
        """Return which Kubernetes a version runs on, by its minor; None if that is not known."""
        known = self._file.minors.get(str(Release.parse(version).minor))
        return known.kubernetes if known else None

    def notes(self, older: str, newer: str) -> list[tuple[str, str]]:
        """Return what to know before an upgrade: minor version and note, oldest first."""
        first, last = Release.parse(older).minor, Release.parse(newer).minor
        return [
            (str(minor), note)
            for minor in self.minors
            if first < minor <= last
            for note in self._file.minors[str(minor)].notes
        ]

    def flags(self, component: str, version: str) -> Mapping[str, FlagFacts]:
        """Return the flags that a component has in a version, also one of another patch level."""
        minor = Release.parse(version).minor
        return MappingProxyType(
            {flag.name: flag for flag in self._file.flags[component] if flag.exists_in(minor)}
        )

    def all_flags(self, component: str) -> tuple[FlagFacts, ...]:
        """Return the flags that a component has or had in any version."""
        return self._file.flags[component]

    def feature_gates(self, component: str, version: str) -> Mapping[str, FeatureGate]:
        """Return the feature gates that a component has in a version."""
        minor = Release.parse(version).minor
        return MappingProxyType(
            {gate.name: gate for gate in self._file.gates[component] if gate.exists_in(minor)}
        )

    def all_feature_gates(self, component: str) -> tuple[FeatureGate, ...]:
        """Return the feature gates that a component has or had in any version."""
        return self._file.gates[component]

    def check(self, bundle: Digested, source: str = "the bundle") -> bool:
        """Return whether a bundle is known to be as released; False if its version is not known.

        Raises:
            BundleCorrupt: the version is known, and the bundle is another one.
        """
        known = self._facts.get(bundle.version)
        if known is None:
            return False
        if known.digest != bundle.digest:
            problem = (
                f"not cert-manager {bundle.version} as it was released (digest"
                f" {bundle.digest[:12]} instead of {known.digest[:12]}); a changed bundle needs a"
                f" version of its own, such as {bundle.version}-mine.1"
            )
            raise BundleCorrupt(source, problem, bundle.version)
        return True

    def _facts_of(self, one: _Version) -> VersionFacts:
        minor = self._file.minors[str(Release.parse(one.version).minor)]
        return VersionFacts(
            one.version, one.module, one.sum, one.digest, minor.kubernetes, minor.notes
        )


@cache
def load() -> Catalogue:
    """Return the catalogue that comes with this package."""
    return Catalogue(files(__package__).joinpath("catalogue.json").read_bytes())


def _within(minor: Minor, since: str, removed: str) -> bool:
    begun = not since or Minor.parse(since) <= minor
    return begun and not (removed and Minor.parse(removed) <= minor)
