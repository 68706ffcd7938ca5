"""Verdicts: the reason and message for one object, and for many.

The wording is part of the interface: reasons are matched by clients, messages by people and
sometimes by regular expressions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from msgspec import Struct

from certwright.apply.refs import ObjectRef

_MOST_NAMED: Final = 10


class Health(StrEnum):
    """How an object is, from worst to best."""

    MISSING = "Missing"
    ERROR = "Error"
    """The check failed."""
    UNHEALTHY = "Unhealthy"
    PROGRESSING = "Progressing"
    HEALTHY = "Healthy"


class Verdict(Struct, frozen=True, gc=False):
    """How one object is, with the reason and message for a condition."""

    ref: ObjectRef
    health: Health
    reason: str = ""
    message: str = ""

    def __bool__(self) -> bool:
        return self.health is Health.HEALTHY


@dataclass(frozen=True, slots=True)
class Summary:
    """Status, reason and message of a condition about all objects together."""

    status: Literal["True", "False"]
    reason: str
    message: str


def healthy(ref: ObjectRef) -> Verdict:
    """Return the verdict on an object that works."""
    return Verdict(ref, Health.HEALTHY)


def missing(ref: ObjectRef, error: str = "") -> Verdict:
    """Return the verdict on an object that does not exist; *error* if its kind does not either."""
    message = f'Required {ref.kind} "{ref.name}" in namespace "{ref.namespace}" is missing'
    if error:
        message += f": {error}"
    return Verdict(ref, Health.MISSING, f"{ref.kind}Missing", message)


def unhealthy(ref: ObjectRef, problem: str) -> Verdict:
    """Return the verdict on an object that does not work."""
    message = f'{ref.kind} "{_place(ref)}" is unhealthy: {problem}'
    return Verdict(ref, Health.UNHEALTHY, f"{ref.kind}Unhealthy", message)


def progressing(ref: ObjectRef, description: str) -> Verdict:
    """Return the verdict on an object whose latest change is not rolled out yet."""
    message = f'{ref.kind} "{_place(ref)}" is progressing: {description}'
    return Verdict(ref, Health.PROGRESSING, f"{ref.kind}Progressing", message)


def check_failed(ref: ObjectRef, error: str) -> Verdict:
    """Return the verdict on an object that could not be checked."""
    message = f'Error executing health check for {ref.kind} "{_place(ref)}": {error}'
    return Verdict(ref, Health.ERROR, "HealthCheckError", message)


def summarize_health(verdicts: Sequence[Verdict]) -> Summary:
    """Return ``ResourcesHealthy``: the first failure with its message, the others by name."""
    failures = [v for v in verdicts if v.health not in {Health.HEALTHY, Health.PROGRESSING}]
    if not failures:
        return Summary("True", "ResourcesHealthy", "All resources are healthy.")
    return Summary("False", failures[0].reason, _message(failures, "unhealthy"))


def summarize_progress(verdicts: Sequence[Verdict]) -> Summary:
    """Return ``ResourcesProgressing``; here False is good."""
    moving = [verdict for verdict in verdicts if verdict.health is Health.PROGRESSING]
    if not moving:
        message = "All resources have been fully rolled out."
        return Summary("False", "ResourcesRolledOut", message)
    return Summary("True", moving[0].reason, _message(moving, "progressing"))


def _message(verdicts: Sequence[Verdict], adjective: str) -> str:
    first, *others = verdicts
    if not others:
        return first.message
    named = [f'{verdict.ref.kind} "{_place(verdict.ref)}"' for verdict in others[:_MOST_NAMED]]
    if len(others) > _MOST_NAMED:
        named.append(f"{len(others) - _MOST_NAMED} more")
    text, gap, events = first.message.partition("\n\n")
    return f"{text}; also {adjective}: {', '.join(named)}{gap}{events}"


def _place(ref: ObjectRef) -> str:
    return f"{ref.namespace}/{ref.name}"
