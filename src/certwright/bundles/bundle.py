"""The objects of one version of cert-manager, as a value."""

from dataclasses import dataclass, field

from certwright.kube import JsonObject


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a release of cert-manager consists of, as its published manifest installs it."""

    version: str
    """With the leading ``v``, such as ``v1.21.2``."""
    objects: tuple[JsonObject, ...] = field(repr=False)
    """The Namespace, the definitions and all others, in the order in which they are applied."""
    digest: str
    """SHA-256, in hexadecimal digits, over the canonical JSON of the objects."""
