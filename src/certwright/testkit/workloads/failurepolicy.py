"""What the ``podFailurePolicy`` of a Job says about a pod that failed. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from certwright.kube import JsonObject


class MatchedRule(NamedTuple):
    """The first rule that fits a pod."""

    action: str
    """``FailJob``, ``Ignore``, ``Count`` or ``FailIndex``."""
    message: str
    """Of the condition by which a Job fails for it."""


def matched_rule(job: JsonObject, pod: JsonObject) -> MatchedRule | None:
    """Return the rule that decides about a failed pod; None if none does."""
    place = f"{pod['metadata'].get('namespace', '')}/{pod['metadata']['name']}"
    rules: Iterable[JsonObject] = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    for index, rule in enumerate(rules):
        action, suffix = rule["action"], f"matching {rule['action']} rule at index {index}"
        if codes := rule.get("onExitCodes"):
            for name, code in _failed_containers(pod):
                if codes.get("containerName") in {None, name} and _code_fits(codes, code):
                    what = f"Container {name} for pod {place} failed with exit code {code}"
                    return MatchedRule(action, f"{what} {suffix}")
        elif condition := _fitting_condition(rule, pod):
            return MatchedRule(action, f"Pod {place} has condition {condition} {suffix}")
    return None


def is_counted(job: JsonObject, pod: JsonObject) -> bool:
    """Return whether the failure of a pod counts towards the limit."""
    rule = matched_rule(job, pod)
    return rule is None or rule.action != "Ignore"


def _failed_containers(pod: JsonObject) -> Iterator[tuple[str, int]]:
    """Yield name and exit code of the containers that ended with an error."""
    status = pod.get("status") or {}
    for kind in ("containerStatuses", "initContainerStatuses"):
        for each in status.get(kind) or ():
            ended = (each.get("state") or {}).get("terminated") or {}
            if ended.get("exitCode"):
                yield each.get("name", ""), ended["exitCode"]


def _code_fits(codes: JsonObject, code: int) -> bool:
    return (code in codes["values"]) is (codes["operator"] == "In")


def _fitting_condition(rule: JsonObject, pod: JsonObject) -> str:
    """Return the type of a condition of a pod that a rule asks for; empty if it has none."""
    wanted = {(one["type"], one.get("status", "True")) for one in rule.get("onPodConditions") or ()}
    found: Iterable[JsonObject] = (pod.get("status") or {}).get("conditions") or ()
    return next((one["type"] for one in found if (one["type"], one["status"]) in wanted), "")
