"""Other people who talk to a server, and the roles that say what they may do."""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from tests.support.contract.transcript import Conversation
from tests.support.waits import until

from certwright.client import Request, Response, Stream, Transport

Json = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
API = f"/apis/{RBAC}/v1"
ROLES = f"{API}/namespaces/{{ns}}/roles"
ROLE_BINDINGS = f"{API}/namespaces/{{ns}}/rolebindings"
CLUSTER_ROLES = f"{API}/clusterroles"
CLUSTER_ROLE_BINDINGS = f"{API}/clusterrolebindings"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Acting:
    """A transport that asks the server to treat every request as somebody else's."""

    def __init__(self, inner: Transport, headers: tuple[tuple[str, str], ...]) -> None:
        self._inner = inner
        self._headers = headers

    async def send(self, request: Request) -> Response:
        return await self._inner.send(self._marked(request))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(self._marked(request))

    async def close(self) -> None:
        """Do nothing: the connection belongs to whoever opened it."""

    def _marked(self, request: Request) -> Request:
        return replace(request, headers=(*request.headers, *self._headers))


def acting(api: Conversation, *headers: tuple[str, str]) -> Conversation:
    """Go on with the same conversation, with these headers on every request."""
    other = Conversation(Acting(api.transport, headers), api.namespace)
    other.heard, other.symbols = api.heard, api.symbols
    return other


def as_user(api: Conversation, name: str, *groups: str) -> Conversation:
    """Go on with the same conversation as another user; ``{ns}`` may stand in the names."""
    headers = [("Impersonate-User", name), *(("Impersonate-Group", group) for group in groups)]
    return acting(api, *((key, value.replace("{ns}", api.namespace)) for key, value in headers))


def rule(verbs: str, resources: str, group: str = "", names: str = "") -> Json:
    """Write a rule; several verbs, resources or names are separated by blanks."""
    made: Json = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**made, "resourceNames": names.split()} if names else made


def user(name: str) -> Json:
    return {"apiGroup": RBAC, "kind": "User", "name": name}


def group(name: str) -> Json:
    return {"apiGroup": RBAC, "kind": "Group", "name": name}


def account(name: str, namespace: str) -> Json:
    return {"kind": "ServiceAccount", "name": name, "namespace": namespace}


def role(name: str, *rules: Json, kind: str = "Role", **rest: Any) -> Json:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": {"name": name, **rest.pop("metadata", {})},
        "rules": list(rules),
        **rest,
    }


def binding(name: str, bound: str, *subjects: Json, kind: str = "RoleBinding") -> Json:
    """Bind ``Role/name`` or ``ClusterRole/name``."""
    role_kind, _, role_name = bound.partition("/")
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": {"name": name},
        "roleRef": {"apiGroup": RBAC, "kind": role_kind, "name": role_name},
        "subjects": list(subjects),
    }


async def grant(api: Conversation, name: str, subject: Json, *rules: Json) -> None:
    """Allow something in the namespace, by a Role and a RoleBinding of one name."""
    await api.post(ROLES, role(name, *rules), recorded=False)
    await api.post(ROLE_BINDINGS, binding(name, f"Role/{name}", subject), recorded=False)
    await effective(api, subject, rules[0], api.namespace)


async def grant_everywhere(api: Conversation, name: str, subject: Json, *rules: Json) -> None:
    """Allow something in all namespaces, by cluster-wide objects named after this one's."""
    name = f"{name}-{api.namespace}"
    bound = binding(name, f"ClusterRole/{name}", subject, kind="ClusterRoleBinding")
    await api.post(CLUSTER_ROLES, role(name, *rules, kind="ClusterRole"), recorded=False)
    await api.post(CLUSTER_ROLE_BINDINGS, bound, recorded=False)
    await effective(api, subject, rules[0], "")


async def withdraw_everywhere(api: Conversation, *names: str) -> None:
    """Leave nothing cluster-wide behind."""
    for name in names:
        for path in (CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES):
            await api.delete(f"{path}/{name}-{api.namespace}", recorded=False)


async def effective(
    api: Conversation, subject: Json, given: Json, namespace: str, *, allowed: bool = True
) -> None:
    """Wait until the server decides by a rule: the real one notices roles after a moment."""
    spec = {**_asked(given, namespace), **_asking(subject)}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}

    async def decided() -> bool:
        answer = await api.post(ACCESS, body, recorded=False)
        return answer.body["status"]["allowed"] is allowed

    await until(f"{spec} is {'' if allowed else 'not '}allowed", decided)


async def until_added_up(api: Conversation) -> None:
    """Wait until the roles that every cluster has are made of others.

    A controller of the real control plane does that some time after its start.
    """
    for name in ("view", "edit", "admin"):  # each is part of the next

        async def complete(name: str = name) -> bool:
            found = await api.get(f"{CLUSTER_ROLES}/{name}", recorded=False)
            [selector] = found.body["aggregationRule"]["clusterRoleSelectors"]
            [(label, value)] = selector["matchLabels"].items()
            path = f"{CLUSTER_ROLES}?labelSelector={label}={value}"
            parts = (await api.get(path, recorded=False)).body["items"]
            rules = found.body["rules"] or ()
            return all(rule in rules for part in parts for rule in part["rules"] or ())

        await until(f"ClusterRole {name} is made of others", complete)


def _asked(given: Json, namespace: str) -> Json:
    verb = given["verbs"][0]
    if "nonResourceURLs" in given:
        return {"nonResourceAttributes": {"verb": verb, "path": given["nonResourceURLs"][0]}}
    resource, _, subresource = given["resources"][0].partition("/")
    return {
        "resourceAttributes": {
            "verb": verb,
            "group": given["apiGroups"][0],
            "resource": resource,
            "subresource": subresource,
            "namespace": namespace,
            "name": given.get("resourceNames", [""])[0],
        }
    }


def _asking(subject: Json) -> Json:
    match subject["kind"]:
        case "Group":
            return {"groups": [subject["name"]]}
        case "ServiceAccount":
            name = f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
            return {"user": name}
    return {"user": subject["name"]}
