"""Versions of cert-manager and of Kubernetes: read, compared, and told apart by minor."""

import re
from typing import Final, NamedTuple

_RELEASE: Final = re.compile(
    r"v(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})(?:-([0-9A-Za-z.-]{1,40}))?"
)
_MINOR: Final = re.compile(r"(0|[1-9]\d{0,3})\.(0|[1-9]\d{0,3})")


class Minor(NamedTuple):
    """A minor version, such as 1.21; the newer one is the greater one."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> "Minor":
        """Read ``1.21``; `ValueError` if it is none."""
        found = _MINOR.fullmatch(text)
        if not found:
            raise ValueError(f"{text[:50]!r} is not a minor version such as 1.21")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Release(NamedTuple):
    """A version, such as v1.21.2; the newer one is the greater one.

    What follows a dash (``v1.21.2-mirror.1``) names a build of the same version and does not
    count when two are compared by `minor`.
    """

    major: int
    number: int
    patch: int
    build: str = ""

    @classmethod
    def parse(cls, text: str) -> "Release":
        """Read ``v1.21.2``; `ValueError` if it is none."""
        found = _RELEASE.fullmatch(text)
        if not found:
            raise ValueError(f"{text[:50]!r} is not a version such as v1.21.2")
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4] or "")

    @property
    def minor(self) -> Minor:
        """The minor version it belongs to."""
        return Minor(self.major, self.number)

    def __str__(self) -> str:
        build = f"-{self.build}" if self.build else ""
        return f"v{self.major}.{self.number}.{self.patch}{build}"
