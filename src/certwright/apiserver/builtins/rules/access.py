"""Rules of RBAC and of certificate signing requests."""

from typing import Final

from certwright.apiserver.builtins.rules.checks import (
    immutable,
    path_segment_problems,
    qualified_name,
    selector_causes,
    subdomain_name,
)
from certwright.apiserver.causes import invalid_value, required, unsupported_value
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

RBAC: Final = "rbac.authorization.k8s.io"


def complete_binding(obj: JsonObject) -> None:
    """Users and groups belong to RBAC's own group, service accounts to the core group."""
    for subject in obj.get("subjects") or ():
        if subject.get("kind") in {"User", "Group"} and not subject.get("apiGroup"):
            subject["apiGroup"] = RBAC


def prepare_role(new: JsonObject, _old: JsonObject | None) -> None:
    """Store empty rules as null, however they were written."""
    new["rules"] = new.get("rules") or None


def validate_role(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Check that each rule names verbs and resources, or paths in a ClusterRole."""
    namespaced = bool(new["metadata"].get("namespace"))
    return [
        cause
        for index, rule in enumerate(new.get("rules") or ())
        for cause in _rule_causes(rule, f"rules[{index}]", namespaced=namespaced)
    ]


def validate_cluster_role(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check the rules, and the selectors of the roles whose rules are collected."""
    causes = validate_role(new, old)
    aggregation = new.get("aggregationRule")
    if aggregation is not None:
        path = "aggregationRule.clusterRoleSelectors"
        selectors = aggregation.get("clusterRoleSelectors") or []
        if not selectors:
            why = "at least one clusterRoleSelector required if aggregationRule is non-nil"
            causes.append(required(path, why))
        for index, selector in enumerate(selectors):
            causes += selector_causes(selector, f"{path}[{index}]")
    return causes


def _rule_causes(rule: JsonObject, path: str, *, namespaced: bool) -> list[Cause]:
    causes: list[Cause] = []
    if not rule.get("verbs"):
        causes.append(required(f"{path}.verbs", "verbs must contain at least one value"))
    if rule.get("nonResourceURLs"):
        where = f"{path}.nonResourceURLs"
        if namespaced:
            why = "namespaced rules cannot apply to non-resource URLs"
            causes.append(invalid_value(where, rule["nonResourceURLs"], why))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            why = "rules cannot apply to both regular resources and non-resource URLs"
            causes.append(invalid_value(where, rule["nonResourceURLs"], why))
        return causes
    if not rule.get("apiGroups"):
        why = "resource rules must supply at least one api group"
        causes.append(required(f"{path}.apiGroups", why))
    if not rule.get("resources"):
        why = "resource rules must supply at least one resource"
        causes.append(required(f"{path}.resources", why))
    return causes


def validate_binding(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that a binding names one role it may name, which never changes."""
    namespaced = bool(new["metadata"].get("namespace"))
    kinds = ["Role", "ClusterRole"] if namespaced else ["ClusterRole"]
    ref, causes = new["roleRef"], list[Cause]()
    if ref.get("apiGroup") != RBAC:
        causes.append(unsupported_value("roleRef.apiGroup", ref.get("apiGroup"), [RBAC]))
    if ref.get("kind") not in kinds:
        causes.append(unsupported_value("roleRef.kind", ref.get("kind") or "", kinds))
    name = ref.get("name") or ""
    if not name:
        causes.append(required("roleRef.name"))
    else:
        problems = path_segment_problems(name)
        causes += [invalid_value("roleRef.name", name, problem) for problem in problems]
    for index, subject in enumerate(new.get("subjects") or ()):
        causes += _subject_causes(subject, f"subjects[{index}]", namespaced=namespaced)
    if old is not None and ref != old["roleRef"]:
        # Printed in the form the API server keeps it in.
        shown = {"APIGroup": ref["apiGroup"], "Kind": ref.get("kind"), "Name": name}
        causes.append(invalid_value("roleRef", shown, "cannot change roleRef"))
    return causes


def _subject_causes(subject: JsonObject, path: str, *, namespaced: bool) -> list[Cause]:
    causes = [] if subject.get("name") else [required(f"{path}.name")]
    kind, group = subject.get("kind") or "", subject.get("apiGroup") or ""
    match kind:
        case "ServiceAccount":
            if subject.get("name"):
                causes += subdomain_name(subject["name"], f"{path}.name")
            if group:
                causes.append(unsupported_value(f"{path}.apiGroup", group, [""]))
            if not namespaced and not subject.get("namespace"):
                causes.append(required(f"{path}.namespace"))
        case "User" | "Group":
            if group != RBAC:
                causes.append(unsupported_value(f"{path}.apiGroup", group, [RBAC]))
        case _:
            supported = ["ServiceAccount", "User", "Group"]
            causes.append(unsupported_value(f"{path}.kind", kind, supported))
    return causes


def validate_signing_request(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that a request names its signer and usages, and does not change."""
    spec = new["spec"]
    if old is not None:
        return immutable(spec, old["spec"], "spec")
    causes: list[Cause] = []
    if not spec.get("request"):
        causes.append(
            invalid_value("spec.request", "", "PEM block type must be CERTIFICATE REQUEST")
        )
    if not spec.get("usages"):
        causes.append(required("spec.usages"))
    signer = spec.get("signerName") or ""
    if not signer:
        causes.append(required("spec.signerName"))
    elif "/" not in signer:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        causes.append(invalid_value("spec.signerName", signer, why))
    else:
        causes += qualified_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        causes.append(invalid_value("spec.expirationSeconds", seconds, why))
    return causes
