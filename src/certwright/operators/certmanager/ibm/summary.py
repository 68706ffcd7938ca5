"""What is to be told about a pass over a CertManager; pure.

Facts come from the engine. From them follow the conditions, the sentence in the status, and the
phase. Events are what changed since the last time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.api.certmanagers import CertManagerStatus, DeploymentSummary
from certwright.apply import Change, ObjectRef
from certwright.operators.certmanager.engine.pullsecret import PullSecretDecision, PullSecretState
from certwright.operators.certmanager.ibm import messages
from certwright.operators.certmanager.request import PullSecret
from certwright.runtime.writes.events import EventType

READY: Final = "Ready"
PREREQS: Final = "PrereqsMet"
DEFINITIONS: Final = "CRDsEstablished"
PULL_SECRET: Final = "PullSecretSynced"  # noqa: S105 - the type of a condition
WEBHOOK: Final = "WebhookReady"
DEGRADED: Final = "Degraded"
CONFLICT: Final = "Conflict"

PREREQUISITES: Final = frozenset(
    {
        "CustomResourceDefinition",
        "Namespace",
        "Secret",
        "ClusterRole",
        "ClusterRoleBinding",
        "ServiceAccount",
    }
)
"""Kinds without which no Deployment is created."""
_SYNCED: Final = frozenset(
    {PullSecretState.NOT_WANTED, PullSecretState.EXISTS, PullSecretState.COPIED}
)

NO_RULE: Final = PullSecret(name="")

InstallEvent = tuple[EventType, str, str]
"""Type, reason and note."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallFacts:
    """What a pass found."""

    version: str = ""
    namespace: str = ""
    rejected: str = ""
    """Why the object is not acted on at all."""
    holder: str = ""
    """Who else holds the installation."""
    duplicates: tuple[tuple[str, ObjectRef], ...] = ()
    """Services that run elsewhere, with their Deployments."""
    troubles: tuple[tuple[str, str], ...] = ()
    """What is wrong with the request: reasons and messages."""
    failed: tuple[Change, ...] = ()
    """What could not be written."""
    unestablished: tuple[str, ...] = ()
    pull_secret: PullSecretDecision | None = None
    pull_secret_rule: PullSecret = NO_RULE
    deployments: tuple[DeploymentSummary, ...] = ()
    expected: int = 0
    """How many Deployments there should be."""
    webhook_wanted: bool = False
    webhook_problem: str = ""
    """Why the webhook does not answer yet."""
    left_alone: tuple[ObjectRef, ...] = ()
    """Objects of others under names of ours."""
    unlabelled: bool = False
    """Whether the namespace lacks the label without which the webhook judges its own objects."""
    deleting: bool = False
    pending: tuple[Change, ...] = ()
    """What holds up a deletion."""
    managed: int = 0


@dataclass(frozen=True, slots=True)
class ConditionText:
    """What is to be said about one aspect."""

    type: str
    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class InstallSummary:
    """What is told."""

    text: str
    phase: str
    conditions: tuple[ConditionText, ...]

    def condition(self, type_: str) -> ConditionText | None:
        """Return what is said about an aspect; None if nothing."""
        return next((one for one in self.conditions if one.type == type_), None)


def summary(facts: InstallFacts) -> InstallSummary:
    """Return what is told about a pass."""
    if facts.rejected:
        said = ConditionText(READY, "False", "NameNotAllowed", facts.rejected)
        return InstallSummary("", "Failed", (said,))
    if facts.deleting:
        return _removal(facts)
    aspects = [*_aspects(facts)]
    ready = _ready(facts, aspects)
    return InstallSummary(_text(facts), _phase(facts, ready), (ready, *aspects))


def events(before: CertManagerStatus, facts: InstallFacts) -> Iterator[InstallEvent]:
    """Yield what changed since the status was written."""
    now = summary(facts)
    told = {one.type: (one.status, one.message) for one in before.conditions}
    if facts.rejected:
        if told.get(READY) != ("False", facts.rejected):
            yield "Warning", "Not Allowed", facts.rejected
        return
    if facts.deleting:
        return
    if not before.conditions:
        yield "Normal", "Initializing", messages.INSTANCE_FOUND
    prereqs = now.condition(PREREQS)
    if prereqs is not None and told.get(PREREQS) != (prereqs.status, prereqs.message):
        met = prereqs.status == "True"
        yield (
            "Normal" if met else "Warning",
            "PrereqsMet" if met else "PrereqsFailed",
            prereqs.message,
        )
    secret = now.condition(PULL_SECRET)
    if secret is not None and secret.status == "False" and not _blocks(facts):
        yield from _news(told.get(PULL_SECRET), secret)
    failure = _failure(facts)
    if failure and told.get(DEGRADED, ("", ""))[1] != failure:
        yield "Warning", "Failed", failure
    if now.text == messages.DEPLOYED and before.cert_manager_status != messages.DEPLOYED:
        yield "Normal", "Deployed", messages.DEPLOYED_EVENT


def _news(before: tuple[str, str] | None, now: ConditionText) -> Iterator[InstallEvent]:
    if before != (now.status, now.message):
        yield "Warning", now.reason, now.message


def _removal(facts: InstallFacts) -> InstallSummary:
    blocked = facts.pending[:1]
    message = messages.deleting(facts.pending)
    ready = ConditionText(READY, "False", "Deleting", message)
    degraded = ConditionText(DEGRADED, "True" if blocked else "False", "Deleting", message)
    return InstallSummary("", "Deleting", (ready, degraded))


def _aspects(facts: InstallFacts) -> Iterator[ConditionText]:
    yield _prereqs(facts)
    if facts.unestablished:
        message = messages.unestablished(facts.unestablished)
        yield ConditionText(DEFINITIONS, "False", "NotEstablished", message)
    else:
        yield ConditionText(DEFINITIONS, "True", "Established", "All definitions are served.")
    if facts.pull_secret is not None:
        decision = facts.pull_secret
        status = "True" if decision.state in _SYNCED else "False"
        message = messages.pull_secret(decision, facts.pull_secret_rule, facts.namespace)
        yield ConditionText(PULL_SECRET, status, decision.state.value, message)
    yield _webhook(facts)
    yield _degraded(facts)
    yield _conflict(facts)


def _prereqs(facts: InstallFacts) -> ConditionText:
    failed = _failed_prereqs(facts)
    if failed:
        return ConditionText(PREREQS, "False", "PrereqsFailed", failed)
    return ConditionText(PREREQS, "True", "PrereqsMet", messages.PREREQS_FOUND)


def _failed_prereqs(facts: InstallFacts) -> str:
    failed = [one for one in facts.failed if one.ref.kind in PREREQUISITES]
    parts = [messages.failures(failed)] if failed else []
    if _blocks(facts) and facts.pull_secret is not None:
        parts.append(
            messages.pull_secret(facts.pull_secret, facts.pull_secret_rule, facts.namespace)
        )
    return "\n".join(parts)


def _blocks(facts: InstallFacts) -> bool:
    return facts.pull_secret is not None and facts.pull_secret.blocks


def _failure(facts: InstallFacts) -> str:
    """Return why cert-manager is not deployed though its prerequisites are met; empty if it is."""
    parts = [messages.already_deployed(*one) for one in facts.duplicates]
    parts += [messages.held_by(facts.holder)] if facts.holder else []
    parts += [message for _, message in facts.troubles]
    failed = [one for one in facts.failed if one.ref.kind not in PREREQUISITES]
    parts += [messages.failures(failed)] if failed else []
    return "\n".join(parts)


def _webhook(facts: InstallFacts) -> ConditionText:
    if not facts.webhook_wanted:
        return ConditionText(WEBHOOK, "False", "WebhookDisabled", "enableWebhook is not set.")
    if facts.webhook_problem:
        return ConditionText(WEBHOOK, "False", "WebhookNotReady", facts.webhook_problem)
    return ConditionText(WEBHOOK, "True", "WebhookReady", "The API server calls the webhook.")


def _degraded(facts: InstallFacts) -> ConditionText:
    if failure := _failure(facts):
        return ConditionText(DEGRADED, "True", "Failed", failure)
    if failed := _failed_prereqs(facts):
        return ConditionText(DEGRADED, "True", "PrereqsFailed", failed)
    if facts.unlabelled and facts.webhook_wanted:
        message = messages.unlabelled(facts.namespace)
        return ConditionText(DEGRADED, "True", "NamespaceNotLabelled", message)
    return ConditionText(DEGRADED, "False", "AsExpected", "Nothing is wrong.")


def _conflict(facts: InstallFacts) -> ConditionText:
    if facts.holder:
        return ConditionText(CONFLICT, "True", "HeldByOther", messages.held_by(facts.holder))
    if facts.duplicates:
        message = "\n".join(messages.already_deployed(*one) for one in facts.duplicates)
        return ConditionText(CONFLICT, "True", "AlreadyDeployed", message)
    if facts.left_alone:
        message = messages.left_alone(facts.left_alone)
        return ConditionText(CONFLICT, "True", "ForeignObjects", message)
    return ConditionText(CONFLICT, "False", "NoConflict", "Nothing of others is in the way.")


def _ready(facts: InstallFacts, aspects: Sequence[ConditionText]) -> ConditionText:
    by_type = {one.type: one for one in aspects}
    if facts.troubles:
        reason, message = facts.troubles[0]
        return ConditionText(READY, "False", reason, message)
    for type_, good in ((PREREQS, "True"), (DEFINITIONS, "True")):
        if by_type[type_].status != good:
            return ConditionText(READY, "False", by_type[type_].reason, by_type[type_].message)
    if failure := _failure(facts):
        reason = by_type[CONFLICT].reason if by_type[CONFLICT].status == "True" else "Failed"
        return ConditionText(READY, "False", reason, failure)
    if waiting := _unavailable(facts):
        return ConditionText(READY, "False", "PodsNotAvailable", messages.unavailable(waiting))
    if facts.webhook_wanted and by_type[WEBHOOK].status != "True":
        return ConditionText(READY, "False", by_type[WEBHOOK].reason, by_type[WEBHOOK].message)
    return ConditionText(READY, "True", "Deployed", messages.DEPLOYED_EVENT)


def _unavailable(facts: InstallFacts) -> list[str]:
    missing = facts.expected - len(facts.deployments)
    short = [one.name for one in facts.deployments if one.ready != one.desired]
    return [*short, *([f"{missing} Deployments"] if missing > 0 else [])]


def _text(facts: InstallFacts) -> str:
    """Return the sentence; that it is deployed means that its objects are written."""
    if _failed_prereqs(facts):
        return messages.PREREQS_NOT_MET
    if _failure(facts):
        return messages.NOT_DEPLOYED
    return messages.DEPLOYED if len(facts.deployments) >= facts.expected else ""


def _phase(facts: InstallFacts, ready: ConditionText) -> str:
    if facts.holder or facts.duplicates:
        return "Conflict"
    if _failed_prereqs(facts) or _failure(facts):
        return "Failed"
    return "Running" if ready.status == "True" else "Pending"
