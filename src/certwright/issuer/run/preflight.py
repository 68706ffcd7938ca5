"""What an issuer needs of a cluster: kinds, permissions, the right to approve.

Each problem names the rule to add, ready to be pasted into a role.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from certwright.api.certmanager import GROUP
from certwright.client import Client
from certwright.issuer.run.manifests import Installation, RoleRule, approve_rule
from certwright.kube import Forbidden, JsonObject, NotFound, Resource
from certwright.kube.kinds import SelfSubjectAccessReview, SubjectAccessReview


@dataclass(frozen=True, slots=True)
class Prerequisite:
    """Something an issuer needs of a cluster, and what is wrong with it."""

    what: str
    problem: str = ""
    """Empty when it is met."""
    is_fatal: bool = True


async def missing_kinds(client: Client, kinds: Sequence[Resource]) -> list[Prerequisite]:
    """Check whether the cluster serves every kind."""
    prerequisites: list[Prerequisite] = []
    for kind in kinds:
        problem = ""
        try:
            client.discovery.invalidate()
            await client.discovery.resource_for(kind.gvk)
        except NotFound:
            remedy = "cert-manager" if kind.group == GROUP else "what the command crds prints"
            problem = f"the cluster does not serve {kind.qualified}: install {remedy}"
        prerequisites.append(Prerequisite(f"kind {kind.qualified}", problem))
    return prerequisites


async def missing_rules(
    client: Client, rules: Sequence[RoleRule], namespace: str = "", *, account: str = ""
) -> list[Prerequisite]:
    """Check whether we, or an *account* (``namespace/name``), have the permissions of the rules."""
    prerequisites: list[Prerequisite] = []
    kind = SubjectAccessReview if account else SelfSubjectAccessReview
    user = _service_account(account) if account else {}
    for rule in rules:
        denied: list[str] = []
        for attributes in _attributes(rule, namespace):
            answer = await client.create(_review(kind, {**user, "resourceAttributes": attributes}))
            if not (answer.get("status") or {}).get("allowed"):
                denied.append(attributes["verb"])
        problem = f"not allowed: {', '.join(dict.fromkeys(denied))}; add the rule {_yaml(rule)}"
        prerequisites.append(Prerequisite(f"permission {_words(rule)}", problem if denied else ""))
    return prerequisites


async def missing_approval(
    client: Client, kinds: Sequence[Resource], where: Installation
) -> Prerequisite:
    """Check whether cert-manager may approve requests for these issuers."""
    user = _service_account(where.approver)
    rule = approve_rule(kinds)
    what = f"approval by {where.approver}"
    try:
        for attributes in _attributes(rule, ""):
            spec = {**user, "resourceAttributes": attributes}
            answer = await client.create(_review(SubjectAccessReview, spec))
            if not (answer.get("status") or {}).get("allowed"):
                problem = (
                    f"{user['user']} may not approve requests for {attributes['name']}, so they"
                    f" wait for ever; bind it to a ClusterRole with the rule {_yaml(rule)}"
                )
                return Prerequisite(what, problem, is_fatal=False)
    except Forbidden as error:
        return Prerequisite(what, f"cannot be checked: {error}", is_fatal=False)
    return Prerequisite(what)


def _attributes(rule: RoleRule, namespace: str) -> Iterator[JsonObject]:
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


def _words(rule: RoleRule) -> str:
    names = f" named {', '.join(rule.names)}" if rule.names else ""
    where = f" in {rule.group}" if rule.group else ""
    return f"{'/'.join(rule.verbs)} on {', '.join(rule.resources)}{where}{names}"


def _yaml(rule: RoleRule) -> str:
    """Return a rule on one line, ready to be pasted into a role."""
    parts = [
        f'apiGroups: ["{rule.group}"]',
        f"resources: [{', '.join(rule.resources)}]",
        f"verbs: [{', '.join(rule.verbs)}]",
    ]
    if rule.names:
        parts.append("resourceNames: [" + ", ".join(f'"{name}"' for name in rule.names) + "]")
    return "{" + ", ".join(parts) + "}"
