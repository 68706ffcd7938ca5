"""Operators that run along in ``certwright up``, each with a sample to try."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from certwright.api.certmanager import CertificateRequest
from certwright.api.managedresources import ManagedResource
from certwright.cli.up import issuerdemo, managedresourcedemo
from certwright.clock import SYSTEM
from certwright.issuers.ca import app
from certwright.kube import JsonObject, Object
from certwright.operators.managedresource import Configuration, resource_operator
from certwright.runtime import Declared
from certwright.testkit.actors import approver


@dataclass(frozen=True, slots=True)
class Demo:
    """Operators with their kinds, sample objects, and commands to try."""

    kinds: Sequence[type[Object]]
    operators: Sequence[Declared]
    objects: Callable[[], list[JsonObject]]
    introduction: str
    suggestions: Callable[[str], list[str]]
    """Takes the command to type for kubectl."""


def managed_resource_demo() -> Demo:
    """Return the ManagedResource operator and a ManagedResource."""
    return Demo(
        kinds=[ManagedResource],
        operators=[resource_operator(Configuration())],
        objects=managedresourcedemo.managed_sample,
        introduction="A ManagedResource keeps its objects as declared. Try:",
        suggestions=managedresourcedemo.suggestions,
    )


def issuer_demo() -> Demo:
    """Return an issuer of certificates, and a controller that approves requests to it."""
    return Demo(
        kinds=[CertificateRequest, *app.kinds],
        operators=[app.operator, approver()],
        objects=lambda: issuerdemo.issuer_sample(SYSTEM.now()),
        introduction="An issuer has signed a CertificateRequest. Try:",
        suggestions=issuerdemo.suggestions,
    )
