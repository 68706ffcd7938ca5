"""Webhooks as values: what is reviewed, by which function, under which path."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypeAlias

from certwright.kube import JsonObject, Object, Resource, resource_of
from certwright.kube.reviews.admission import AdmissionReview
from certwright.webhook.decisions import Decision

Review: TypeAlias = Callable[[AdmissionReview], Decision | Awaitable[Decision]]
"""Decides about one request. A plain function runs on the event loop and must be quick; one that
waits for something is ``async`` and is cancelled when its time is over."""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?){2,}")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_LONGEST_TIMEOUT = timedelta(seconds=30)
RESERVED_PATHS = frozenset({"/livez", "/healthz", "/readyz"})


def intercept(
    kind: type[Object] | Resource, *operations: str, subresource: str = "", scope: str = "*"
) -> JsonObject:
    """Return the rule that sends operations on a kind to a webhook: ``CREATE``, ``UPDATE``…"""
    resource = resource_of(kind)
    return {
        "apiGroups": [resource.group],
        "apiVersions": [resource.version],
        "resources": [f"{resource.plural}/{subresource}" if subresource else resource.plural],
        "operations": list(operations),
        "scope": scope,
    }


@dataclass(frozen=True, eq=False)
class AdmissionHandler:
    """A function that reviews requests, and which requests the API server sends to it.

    *name* is a domain name of three parts or more, as the API server asks for; it stands in every
    message about a denial. The path is ``/`` and the name unless another is given.
    """

    name: str
    review: Review
    rules: Sequence[JsonObject]
    """See `intercept`."""
    mutating: bool = False
    """Whether it may return `Patch`."""
    path: str = ""
    failure_policy: Literal["Fail", "Ignore"] = "Fail"
    """What the API server does with the request when the webhook fails or is not reached."""
    match_policy: Literal["Equivalent", "Exact"] = "Equivalent"
    namespace_selector: JsonObject = field(default_factory=dict)
    object_selector: JsonObject = field(default_factory=dict)
    match_conditions: Mapping[str, str] = field(default_factory=dict)
    """CEL expressions by name; all must be true."""
    timeout: timedelta = timedelta(seconds=10)
    side_effects: Literal["None", "NoneOnDryRun"] = "None"
    reinvocation: Literal["Never", "IfNeeded"] = "Never"
    """Of a mutating webhook: whether it is asked again after others have changed the object."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or len(self.name) > 253:
            raise ValueError(
                f"webhook name {self.name!r} is not a domain name of at least three parts, such as "
                "pods.example.com"
            )
        if not timedelta(seconds=1) <= self.timeout <= _LONGEST_TIMEOUT:
            raise ValueError(f"webhook {self.name}: the timeout must be 1 to 30 seconds")
        if not self.path:
            object.__setattr__(self, "path", f"/{self.name}")
        check_path(self.path)


ObjectConverter: TypeAlias = Callable[
    [Sequence[JsonObject], str], "Sequence[JsonObject] | NotConverted"
]


@dataclass(frozen=True, slots=True)
class NotConverted:
    """Objects that cannot be converted; the client that asked for them gets the message."""

    message: str


@dataclass(frozen=True, eq=False)
class ConversionHandler:
    """A function that converts objects of a CRD to another version.

    *convert* gets the objects and the wanted apiVersion, and returns them in the same order or
    `NotConverted`. It may change what it was given. Only labels and annotations of their
    metadata may be changed.
    """

    path: str
    convert: ObjectConverter

    def __post_init__(self) -> None:
        check_path(self.path)


def check_path(path: str) -> None:
    """Raise `ValueError` if reviews cannot be served under a path."""
    if not _PATH.fullmatch(path) or path in RESERVED_PATHS:
        raise ValueError(f"{path!r} is not a path such as /pods, or it is taken by the probes")


def check_unique(webhooks: Sequence[AdmissionHandler | ConversionHandler]) -> None:
    """Raise `ValueError` if two webhooks have the same path or name."""
    for what, names in (
        ("path", [webhook.path for webhook in webhooks]),
        ("name", [webhook.name for webhook in webhooks if isinstance(webhook, AdmissionHandler)]),
    ):
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two webhooks have the {what} {', '.join(twice)}")
