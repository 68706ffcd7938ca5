"""Who works along in ``certwright up``, so that there is something to see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from certwright.api.certmanager import CertificateRequest
from certwright.api.managedresources import ManagedResource
from certwright.cli.up import issuersample, managedsample
from certwright.clock import SYSTEM
from certwright.issuers.ca import app
from certwright.kube import JsonObject, Object
from certwright.operators.managedresource import Configuration, resource_operator
from certwright.runtime import Declared
from certwright.testkit.actors import approver


@dataclass(frozen=True, slots=True)
class Company:
    """Operators with their kinds, a sample, and what to try with it."""

    kinds: Sequence[type[Object]]
    members: Sequence[Declared]
    sample: Callable[[], list[JsonObject]]
    introduction: str
    suggestions: Callable[[str], list[str]]
    """Given what to type for kubectl."""


def managed_resources() -> Company:
    """Return who keeps ManagedResources."""
    return Company(
        kinds=[ManagedResource],
        members=[resource_operator(Configuration())],
        sample=managedsample.managed_sample,
        introduction="There is a ManagedResource whose objects are kept as they are declared. Try:",
        suggestions=managedsample.suggestions,
    )


def issuers() -> Company:
    """Return an issuer of certificates, and who approves requests to it."""
    return Company(
        kinds=[CertificateRequest, *app.kinds],
        members=[app.operator, approver()],
        sample=lambda: issuersample.issuer_sample(SYSTEM.now()),
        introduction="There is a certificate authority, and a request that it has signed. Try:",
        suggestions=issuersample.suggestions,
    )
