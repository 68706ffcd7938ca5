"""PodDisruptionBudgets and NetworkPolicies."""

from copy import deepcopy
from typing import Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.overlays.bundlecopy import BundleCopy, ComponentObjects
from certwright.operators.certmanager.request import Problem, Reason

_EGRESS: Final = ((80, "TCP"), (443, "TCP"), (53, "TCP"), (53, "UDP"), (6443, "TCP"))
"""Where pods may connect to by default: web servers, name servers, the API server."""


def disruption_budgets(copy: BundleCopy) -> list[Problem]:
    """Add a PodDisruptionBudget for each component that asks for one."""
    problems = []
    for one in copy.components():
        wanted = one.wanted.pod_disruption_budget
        if wanted is None:
            continue
        if {"minAvailable", "maxUnavailable"} <= wanted.keys():
            problems.append(
                Problem(
                    Reason.INVALID_OVERRIDE,
                    one.component,
                    "a PodDisruptionBudget has either minAvailable or maxUnavailable, not both",
                    "podDisruptionBudget",
                )
            )
        names = ("minAvailable", "maxUnavailable", "unhealthyPodEvictionPolicy")
        limits = {name: wanted[name] for name in names if name in wanted}
        if not limits.keys() & {"minAvailable", "maxUnavailable"}:
            limits["minAvailable"] = 1
        spec = {"selector": {"matchLabels": dict(one.selector)}, **limits}
        metadata = {**_place(one, one.name), "labels": _labels(one)}
        copy.add(_object("policy/v1", "PodDisruptionBudget", metadata, spec))
    return problems


def network_policies(copy: BundleCopy) -> None:
    """Add two NetworkPolicies for each component that asks for them."""
    for one in copy.components():
        wanted = one.wanted.network_policy
        if wanted is None:
            continue
        pods = {"matchLabels": dict(one.selector)}
        rules = {"ingress": _ingress(one), "egress": _egress()}
        for direction, default in rules.items():
            spec = {
                direction: deepcopy(wanted.get(direction, default)),
                "podSelector": pods,
                "policyTypes": [direction.capitalize()],
            }
            metadata = _place(one, f"{one.name}-allow-{direction}")
            copy.add(_object("networking.k8s.io/v1", "NetworkPolicy", metadata, spec))


def _ingress(one: ComponentObjects) -> list[JsonObject]:
    """Return a rule for the ports that the component has; without one, nothing may connect."""
    ports = [
        {"port": port.get("name") or port["containerPort"], "protocol": "TCP"}
        for port in one.container.get("ports") or ()
    ]
    return [{"ports": ports}] if ports else []


def _egress() -> list[JsonObject]:
    return [{"ports": [{"port": port, "protocol": protocol} for port, protocol in _EGRESS]}]


def _place(one: ComponentObjects, name: str) -> JsonObject:
    return {"name": name, "namespace": one.deployment["metadata"]["namespace"]}


def _labels(one: ComponentObjects) -> dict[str, str]:
    return dict(one.deployment["metadata"].get("labels") or {})


def _object(api_version: str, kind: str, metadata: JsonObject, spec: JsonObject) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
