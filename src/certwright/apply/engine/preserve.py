"""What of a live object stays as it is, although the manifest says otherwise or nothing.

Server-side apply leaves fields of others alone and removes those of ours that are not sent any
more. Some fields must survive both a manifest that mentions them and our having owned them:
replicas that an autoscaler sets, addresses and ports the cluster allocated, what cannot be
changed at all. For each of them one rule holds while the live object has the field: where it
is ours the live value is sent, where it is not the field is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from certwright.apply.engine.draft import Draft
from certwright.apply.engine.services import keep_service
from certwright.apply.engine.wanted import Rules
from certwright.kube import JsonObject
from certwright.kube.comparison import contains
from certwright.kube.ownership import FieldSet

RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"

_APPS: Final = frozenset({"apps", "extensions"})
_SIZED: Final = ("cpu", "memory")
_TEMPLATE: Final = ("spec", "template")
_CRON_TEMPLATE: Final = ("spec", "jobTemplate", "spec", "template")
_CLAIMS: Final = ("spec", "volumeClaimTemplates")


@dataclass(frozen=True, slots=True)
class Sent:
    """What is applied for an object."""

    obj: JsonObject = field(repr=False)  # it may be a Secret
    guarded: bool = False
    """It repeats live values, so it only holds for the very state they were read from."""
    ignored: tuple[str, ...] = ()
    """Fields in which the manifest was not followed, because they cannot change."""


def preserve(desired: JsonObject, live: JsonObject, own: FieldSet | None, rules: Rules) -> Sent:
    """Return what to apply so that *live* becomes *desired* but for what is to be preserved."""
    draft = Draft(desired, live, own)
    if rules.preserve_allocated:
        _keep_metadata(draft)
        _keep_by_kind(draft)
    else:
        draft.drop(("status",))
    if rules.preserve_replicas:
        draft.leave(("spec", "replicas"))
    if rules.preserve_resources and (template := _template_of(desired)):
        _keep_resources(draft, template)
    return Sent(draft.obj, draft.guarded, tuple(draft.ignored))


def _keep_metadata(draft: Draft) -> None:
    """Leave finalizers and status to those who work with them; on creation both were set."""
    for path in (("metadata", "finalizers"), ("status",)):
        draft.carry(path)


def _keep_by_kind(draft: Draft) -> None:
    group, kind = _group_kind(draft.desired)
    if kind in {"Deployment", "StatefulSet"} and group in _APPS:
        if draft.wanted(("spec", "replicas")) is None:
            draft.leave(("spec", "replicas"))
        if kind == "StatefulSet":
            _keep_claims(draft)
    elif (group, kind) == ("batch", "Job"):
        _keep_job(draft)
    elif (group, kind) == ("", "Service"):
        keep_service(draft)
    elif (group, kind) == ("", "ServiceAccount"):
        draft.leave(("secrets",))
        draft.leave(("imagePullSecrets",))
    if template := _template_of(draft.desired):
        draft.leave((*template, "metadata", "annotations", RESTARTED_AT))


def _keep_claims(draft: Draft) -> None:
    wanted, have = draft.wanted(_CLAIMS), draft.have(_CLAIMS)
    if wanted and have and not contains(have, wanted):
        draft.ignored.append(".".join(_CLAIMS))
    draft.leave(_CLAIMS)


def _keep_job(draft: Draft) -> None:
    draft.leave(("spec", "selector"))
    path = (*_TEMPLATE, "metadata", "labels")
    wanted = draft.wanted(path)
    ours = draft.ours(path)
    if isinstance(ours, dict):
        draft.set(path, {**ours, **(wanted if isinstance(wanted, dict) else {})})


def _keep_resources(draft: Draft, template: tuple[str, ...]) -> None:
    containers = (*template, "spec", "containers")
    live = _by_name(draft.have(containers))
    ours = _by_name(draft.ours(containers))
    for position, container in enumerate(draft.wanted(containers) or ()):
        name = container.get("name") if isinstance(container, dict) else None
        if name not in live:
            continue
        for part in ("requests", "limits"):
            for amount in _SIZED:
                draft.leave_value(
                    (*containers, position, "resources", part, amount),
                    have=_amount(live[name], part, amount),
                    ours=_amount(ours.get(name), part, amount),
                )


def _template_of(obj: JsonObject) -> tuple[str, ...]:
    """Return where the kind keeps the template of its pods; empty if it has none."""
    group, kind = _group_kind(obj)
    if (group, kind) == ("batch", "CronJob"):
        return _CRON_TEMPLATE
    if (group, kind) == ("batch", "Job"):
        return _TEMPLATE
    workload = kind in {"Deployment", "StatefulSet", "DaemonSet"} and group in _APPS
    return _TEMPLATE if workload else ()


def _group_kind(obj: JsonObject) -> tuple[str, str]:
    return str(obj.get("apiVersion") or "").rpartition("/")[0], str(obj.get("kind") or "")


def _by_name(containers: Any) -> dict[str, JsonObject]:
    return {
        container["name"]: container
        for container in (containers if isinstance(containers, list) else ())
        if isinstance(container, dict) and isinstance(container.get("name"), str)
    }


def _amount(container: Any, part: str, amount: str) -> Any:
    value = container
    for name in ("resources", part, amount):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
