"""The words of a CertManager: sentences, events and lines of log that users of it know, and ours.

Those that must match are word for word what IBM's operator wrote.
"""

from collections.abc import Sequence
from typing import Final

from certwright.apply import Change, ObjectRef
from certwright.operators.certmanager.engine.pullsecret import PullSecretDecision, PullSecretState
from certwright.operators.certmanager.ibm.adapter import WITHOUT_WEBHOOK
from certwright.operators.certmanager.request import PullSecret
from certwright.operators.certmanager.v010.names import NO_VALIDATION

# status.certManagerStatus

DEPLOYED: Final = "Successfully deployed cert-manager"
PREREQS_NOT_MET: Final = "Error deploying cert-manager, prereqs not met"
NOT_DEPLOYED: Final = "Error deploying cert-manager"

# Events and conditions

INSTANCE_FOUND: Final = "Instance found"
PREREQS_FOUND: Final = "All prerequisites for deploying cert-manager service found"
DEPLOYED_EVENT: Final = "Deployed cert-manager successfully"
NOT_ALLOWED: Final = "Only one CR named default is allowed"

_MOST: Final = 20
"""How many objects a message names."""


def already_deployed(service: str, found: ObjectRef) -> str:
    """Return that a service of the same name runs elsewhere."""
    return (
        f"The service {service} is already deployed as {found.namespace}/{found.name}. Please"
        f" remove it if you want this version of {service} to be deployed."
    )


def pull_secret_missing(rule: PullSecret, namespace: str) -> str:
    """Return that there is neither the Secret nor one to copy."""
    return (
        f'secrets "The image pull secret {rule.name} does not exist in the deploy namespace'
        f" {namespace} and there was no copy pull secret found in the {rule.source_namespace}"
        ' namespace" not found'
    )


def pull_secret(decision: PullSecretDecision, rule: PullSecret, namespace: str) -> str:
    """Return what is to be said about the Secret with which images are pulled."""
    here, source = f"{namespace}/{rule.name}", f"{rule.source_namespace}/{rule.name}"
    match decision.state:
        case PullSecretState.NOT_WANTED:
            return f"No Secret is named to pull images with, and there is no {here}."
        case PullSecretState.COPIED:
            return f"The Secret {here} is a copy of {source}."
        case PullSecretState.MISSING:
            return pull_secret_missing(rule, namespace)
        case PullSecretState.SOURCE_MISSING:
            return f"The Secret {source} is gone; its copy {here} stays as it is."
        case PullSecretState.UNREADABLE:
            kept = (
                "nothing is installed without it" if decision.blocks else f"{here} stays as it is"
            )
            return f"The pull secret cannot be read: {decision.problem}; {kept}."
        case _:
            return f"Images are pulled with the Secret {here}."


def failures(changes: Sequence[Change]) -> str:
    """Return what could not be written, a line for each object."""
    lines = [f"{one.ref}: {one.reason}" for one in changes[:_MOST]]
    more = len(changes) - _MOST
    return "\n".join([*lines, *([f"and {more} more"] if more > 0 else [])])


def left_alone(refs: Sequence[ObjectRef]) -> str:
    """Return which objects of others are in the way of ours."""
    return (
        f"{_named(refs)}: not created by this operator, so left as found. Delete what is not"
        " wanted, and it is created anew where it is needed."
    )


def unlabelled(namespace: str) -> str:
    """Return that the webhook judges what it needs itself."""
    return (
        f"The namespace {namespace} was there before and lacks the label {NO_VALIDATION}=true, so"
        " the webhook judges objects in its own namespace; add the label."
    )


def held_by(holder: str) -> str:
    """Return that another custom resource holds the installation."""
    return f"cert-manager is installed by {holder}; nothing is changed until that one is gone."


def unestablished(names: Sequence[str]) -> str:
    """Return which definitions are not served yet."""
    return f"Not established yet: {', '.join(names)}."


def unavailable(names: Sequence[str]) -> str:
    """Return which Deployments lack pods."""
    return f"Pods are not available yet: {', '.join(names)}."


def deleting(pending: Sequence[Change]) -> str:
    """Return which objects hold up the deletion."""
    return f"Waiting for {failures(pending)}" if pending else "The installation is being removed."


WEBHOOK_REQUIRED: Final = (
    "This version of cert-manager does not work without its webhook: remove enableWebhook: false,"
    f" or annotate the CertManager with {WITHOUT_WEBHOOK}=true."
)


WEBHOOK_WAITS: Final = "The webhook is registered when it and what it needs are available."
TERMINATING: Final = "it is being deleted; the installation goes on when it is gone"


def recreated(change: Change) -> str:
    """Return that an object had to be deleted to be as it should."""
    return f"Recreated {change.ref}: {change.reason}"


def _named(refs: Sequence[ObjectRef]) -> str:
    more = f" and {len(refs) - _MOST} more" if len(refs) > _MOST else ""
    return f"{', '.join(map(str, refs[:_MOST]))}{more}"
