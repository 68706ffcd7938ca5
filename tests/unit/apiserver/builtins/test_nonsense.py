"""Whatever a client sends, the answer is an object or a refusal."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.schema import Schema
from certwright.kube.errors import BadRequest

ROUNDS = 150
DEEPEST = 8
TEXTS = ("", "a", "In", "10m", "Always", "25%", "A_ b", "2024-01-01T00:00:00Z", "None", "v1")
KEYS = ("a", "cpu", "tls.crt", "B c")


def junk(random: Random) -> Any:
    return random.choice(
        [None, {}, [], "", "x", "A_ b", -1, 0, 70000, 1.5, True, [None], {"": None}]
    )


def shaped(schema: Schema, random: Random, depth: int = 0) -> Any:
    """Return a value that has the shape of a kind at most places, and any at the others."""
    if depth > DEEPEST or (depth > 1 and random.random() < 0.1):
        return junk(random)
    match schema.type:
        case "object" if schema.properties:
            count = min(len(schema.properties), random.randrange(1, 7))
            names = random.sample(sorted(schema.properties), count)
            return {n: shaped(schema.properties[n], random, depth + 1) for n in names}
        case "object" if schema.additional is not None:
            return {
                key: shaped(schema.additional, random, depth + 1) for key in random.sample(KEYS, 2)
            }
        case "array" if schema.items is not None:
            return [shaped(schema.items, random, depth + 1) for _ in range(random.randrange(3))]
        case "integer":
            return random.randrange(-5, 70000)
        case "boolean":
            return random.random() < 0.5
    return random.choice(TEXTS)


@pytest.mark.parametrize(
    "resource",
    [
        "pods", "services", "deployments.apps", "statefulsets.apps", "daemonsets.apps", "jobs.batch",
        "cronjobs.batch", "secrets", "configmaps", "ingresses.networking.k8s.io",
        "rolebindings.rbac.authorization.k8s.io", "clusterroles.rbac.authorization.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io", "persistentvolumeclaims",
        "horizontalpodautoscalers.autoscaling", "poddisruptionbudgets.policy", "events",
        "events.events.k8s.io", "customresourcedefinitions.apiextensions.k8s.io", "limitranges",
        "replicationcontrollers", "endpointslices.discovery.k8s.io", "leases.coordination.k8s.io",
    ],
)  # fmt: skip
def test_nothing_else_happens(
    kinds: dict[str, ServedKind], admit: Callable[..., Any], resource: str
) -> None:
    for number in range(ROUNDS):
        content = shaped(kinds[resource].schema, Random(f"{resource} {number}"))  # noqa: S311  # repeatable
        content = {k: v for k, v in content.items() if k not in {"metadata", "status"}}
        try:
            made, causes = admit(resource, **content)
        except BadRequest:
            continue
        if not causes:
            again = {k: v for k, v in made.items() if k != "status"}
            # What was accepted is accepted again, unchanged.
            assert admit(resource, made, **again)[1] == [], (number, content)
