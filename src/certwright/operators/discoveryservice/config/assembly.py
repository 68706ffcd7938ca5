"""A configuration becomes a snapshot, or a list of what is wrong with it.

What the spec writes out is checked whole: by the schema, by its rules, and whether what it names
is there. What is made of other objects may fail alone: a Secret that cannot be used is left out
and reported, and the rest is served.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.config.content import (
    ConfigContent,
    DeclaredValue,
    EndpointSource,
)
from certwright.operators.discoveryservice.config.endpoints import load_assignment
from certwright.operators.discoveryservice.config.secrets import SecretUnusable, secret_resource
from certwright.xds.schema.errors import FieldProblem, ResourceRefused
from certwright.xds.schema.references import (
    CLUSTER,
    ENDPOINTS,
    RUNTIME,
    SECRET,
    WORDS,
    dangling,
)
from certwright.xds.schema.schema import MOST_PROBLEMS, MessageSchema
from certwright.xds.schema.walk import Message
from certwright.xds.snapshot import XdsResource, resource

PREFIX: Final = "type.googleapis.com/"
BOOTSTRAP_RUNTIME: Final = "runtime"
"""The runtime layer that each bootstrap asks for. Without one, an Envoy that starts waits 15 s."""
STATIC_CLUSTERS: Final = frozenset({"xds_cluster", "ads_cluster"})
"""Clusters that the bootstrap of each Envoy has."""
_NAMES: Final = {ENDPOINTS: "cluster_name"}
"""Fields that name a resource, where it is not ``name``."""


@dataclass(frozen=True, slots=True)
class CheckedConfig:
    """What a spec declares, as messages that keep all rules."""

    content: ConfigContent
    resources: tuple[XdsResource, ...]
    """What it writes out, and an empty runtime layer if it has none."""


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """An object of which no resource could be made."""

    path: str
    """Of the field that names it."""
    kind: str
    name: str
    """Of the object."""
    resource: str
    problem: str


@dataclass(frozen=True, slots=True)
class AssembledConfig:
    """What is served of a configuration, and what is missing from it."""

    resources: tuple[XdsResource, ...]
    missing: tuple[SourceProblem, ...] = ()


def check(schema: MessageSchema, content: ConfigContent) -> CheckedConfig:
    """Return what a configuration writes out, as resources.

    Raises:
        ResourceRefused: something does not fit; the problems name the fields.
    """
    messages: list[tuple[DeclaredValue, Message]] = []
    problems: list[FieldProblem] = []
    for one in content.values:
        try:
            messages.append((one, schema.make(one.type, one.value)))
        except ResourceRefused as refused:
            problems += [problem.below(one.path) for problem in refused.problems]
    problems += _repeated(messages, content)
    present = _present(messages, content)
    if not problems:
        for one, message in messages:
            problems += [
                problem.below(one.path)
                for problem in islice(dangling(schema, message, present), MOST_PROBLEMS)
            ]
    if problems:
        raise ResourceRefused(problems[:MOST_PROBLEMS])
    resources = [_encoded(one.type, message) for one, message in messages]
    if BOOTSTRAP_RUNTIME not in present[RUNTIME]:
        resources.append(_encoded(RUNTIME, schema.make(RUNTIME, {"name": BOOTSTRAP_RUNTIME})))
    return CheckedConfig(content, tuple(resources))


def _repeated(
    messages: Iterable[tuple[DeclaredValue, Message]], content: ConfigContent
) -> Iterable[FieldProblem]:
    """Yield resources whose name another one of the same type has, or that have none."""
    seen: dict[tuple[str, str], str] = {}
    named = [(one.path, one.type, _name(one.type, message)) for one, message in messages]
    named += [(one.path, SECRET, one.resource) for one in content.secrets]
    named += [(one.path, ENDPOINTS, one.cluster) for one in content.endpoints]
    for path, kind, name in named:
        if not name:
            yield FieldProblem(f"{path}.name", "must not be empty")
        elif other := seen.get((kind, name)):
            yield FieldProblem(path, f"is a second {WORDS[kind]} {name!r}, beside {other}")
        seen.setdefault((kind, name), path)


def _present(
    messages: Iterable[tuple[DeclaredValue, Message]], content: ConfigContent
) -> Mapping[str, set[str]]:
    present: dict[str, set[str]] = {name: set() for name in WORDS}
    for one, message in messages:
        present[one.type].add(_name(one.type, message))
    present[SECRET] |= {one.resource for one in content.secrets}
    present[ENDPOINTS] |= {one.cluster for one in content.endpoints}
    present[CLUSTER] |= STATIC_CLUSTERS
    return present


def assemble(
    schema: MessageSchema,
    checked: CheckedConfig,
    secret: Callable[[str], JsonObject | None],
    slices: Callable[[EndpointSource], Iterable[JsonObject]],
    now: datetime,
) -> AssembledConfig:
    """Return what is served, with what is made of the Secrets and EndpointSlices at this moment."""
    resources = list(checked.resources)
    missing: list[SourceProblem] = []
    for one in checked.content.secrets:
        try:
            made = secret_resource(one, secret(one.secret), now)
            resources.append(_encoded(SECRET, schema.make(SECRET, made)))
        except SecretUnusable as error:
            missing.append(SourceProblem(one.path, "Secret", one.secret, one.resource, str(error)))
    for source in checked.content.endpoints:
        value = load_assignment(source, slices(source))
        resources.append(_encoded(ENDPOINTS, schema.make(ENDPOINTS, value)))
    return AssembledConfig(tuple(resources), tuple(missing))


def _name(kind: str, message: Message) -> str:
    return str(getattr(message, _NAMES.get(kind, "name")))


def _encoded(kind: str, message: Message) -> XdsResource:
    encoded = message.SerializeToString(deterministic=True)
    return resource(PREFIX + kind, _name(kind, message), encoded)
