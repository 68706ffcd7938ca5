"""What is missing before an issuer can work: kinds, permissions, the right to approve.

Every finding names what to add, in the words of a role.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from certwright.api.certmanager import GROUP
from certwright.client import Client
from certwright.issuer.run.manifests import Installation, Rule, approve_rule
from certwright.kube import Forbidden, JsonObject, NotFound, Resource
from certwright.kube.kinds import SelfSubjectAccessReview, SubjectAccessReview


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    problem: str = ""
    """Empty when it is as it should be."""
    is_fatal: bool = True


async def missing_kinds(client: Client, kinds: Sequence[Resource]) -> list[Finding]:
    """Look whether the cluster serves every kind."""
    findings: list[Finding] = []
    for kind in kinds:
        problem = ""
        try:
            client.discovery.invalidate()
            await client.discovery.resource_for(kind.gvk)
        except NotFound:
            remedy = "cert-manager" if kind.group == GROUP else "what the command crds prints"
            problem = f"the cluster does not serve {kind.qualified}: install {remedy}"
        findings.append(Finding(f"kind {kind.qualified}", problem))
    return findings


async def missing_rules(
    client: Client, rules: Sequence[Rule], namespace: str = "", *, account: str = ""
) -> list[Finding]:
    """Ask whether we, or an *account* (``namespace/name``), may do what the rules say."""
    findings: list[Finding] = []
    kind = SubjectAccessReview if account else SelfSubjectAccessReview
    who = _service_account(account) if account else {}
    for rule in rules:
        denied: list[str] = []
        for attributes in _attributes(rule, namespace):
            answer = await client.create(_review(kind, {**who, "resourceAttributes": attributes}))
            if not (answer.get("status") or {}).get("allowed"):
                denied.append(attributes["verb"])
        problem = f"not allowed: {', '.join(dict.fromkeys(denied))}; add the rule {_yaml(rule)}"
        findings.append(Finding(f"permission {_words(rule)}", problem if denied else ""))
    return findings


async def missing_approval(
    client: Client, kinds: Sequence[Resource], where: Installation
) -> Finding:
    """Ask whether cert-manager may approve requests for these issuers."""
    who = _service_account(where.approver)
    rule = approve_rule(kinds)
    what = f"approval by {where.approver}"
    try:
        for attributes in _attributes(rule, ""):
            spec = {**who, "resourceAttributes": attributes}
            answer = await client.create(_review(SubjectAccessReview, spec))
            if not (answer.get("status") or {}).get("allowed"):
                problem = (
                    f"{who['user']} may not approve requests for {attributes['name']}, so they"
                    f" wait for ever; bind it to a ClusterRole with the rule {_yaml(rule)}"
                )
                return Finding(what, problem, is_fatal=False)
    except Forbidden as error:
        return Finding(what, f"cannot be told: {error}", is_fatal=False)
    return Finding(what)


def _attributes(rule: Rule, namespace: str) -> Iterator[JsonObject]:
    for resource in rule.resources:
        name, _, subresource = resource.partition("/")
        for verb in rule.verbs:
            for named in rule.names or ("",):
                asked = {
                    "group": rule.group,
                    "resource": name,
                    "subresource": subresource,
                    "verb": verb,
                    "name": named,
                    "namespace": namespace,
                }
                yield {key: value for key, value in asked.items() if value}


def _service_account(account: str) -> JsonObject:
    """Return a ServiceAccount (``namespace/name``) as the API server knows it."""
    namespace, _, name = account.partition("/")
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return {"user": f"system:serviceaccount:{namespace}:{name}", "groups": groups}


def _review(kind: Resource, spec: JsonObject) -> JsonObject:
    return {"apiVersion": kind.api_version, "kind": kind.kind, "spec": spec}


def _words(rule: Rule) -> str:
    names = f" named {', '.join(rule.names)}" if rule.names else ""
    where = f" in {rule.group}" if rule.group else ""
    return f"{'/'.join(rule.verbs)} on {', '.join(rule.resources)}{where}{names}"


def _yaml(rule: Rule) -> str:
    """Return a rule on one line, ready to be pasted into a role."""
    parts = [
        f'apiGroups: ["{rule.group}"]',
        f"resources: [{', '.join(rule.resources)}]",
        f"verbs: [{', '.join(rule.verbs)}]",
    ]
    if rule.names:
        parts.append("resourceNames: [" + ", ".join(f'"{name}"' for name in rule.names) + "]")
    return "{" + ", ".join(parts) + "}"
