"""The accounts under which ``certwright up`` runs operators: each may do what it declares.

They are ServiceAccounts with a ClusterRole of the rules that ``certwright rbac`` prints, so that
what works here works in a cluster with these roles.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from certwright.cli.controllers import built_controllers
from certwright.client import Client, Config, HttpTransport, User
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import ServiceAccount, SubjectAccessReview
from certwright.runtime import Declared, policy_rules

NAMESPACE: Final = "certwright"
_GROUP: Final = "rbac.authorization.k8s.io"
_YEAR_SECONDS: Final = 365 * 24 * 3600
_POLL_SECONDS: Final = 0.05
_EFFECTIVE_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class OperatorAccount:
    """A ServiceAccount, and what runs under it."""

    name: str
    declared: Sequence[Declared]


def account_manifests(name: str, rules: Sequence[JsonObject]) -> list[JsonObject]:
    """Return the ServiceAccount, a ClusterRole with these rules, and what binds them."""
    role = f"{NAMESPACE}-{name}"
    reference = {"apiGroup": _GROUP, "kind": "ClusterRole", "name": role}
    subject = {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": name}
    head = {"apiVersion": f"{_GROUP}/v1", "metadata": {"name": role}}
    return [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"namespace": NAMESPACE, "name": name},
        },
        {**head, "kind": "ClusterRole", "rules": list(rules)},
        {**head, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]},
    ]


async def sign_in(admin: Client, config: Config, account: OperatorAccount) -> Client:
    """Create an account with its role, and return a client that holds a token of it.

    *config* says how *admin* reaches the server. The client is the caller's to close.
    """
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    rules = policy_rules(built_controllers(account.declared))
    for manifest in (namespace, *account_manifests(account.name, rules)):
        await admin.apply(manifest)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    spec = {"expirationSeconds": _YEAR_SECONDS}  # longer than anybody plays
    key = Key(NAMESPACE, account.name)
    answer = await admin.create_subresource(ServiceAccount, key, "token", {**body, "spec": spec})
    user = User(token=answer["status"]["token"])
    await _until_effective(admin, account.name, rules[0])
    return Client(HttpTransport(replace(config, user=user)))


async def _until_effective(admin: Client, name: str, rule: JsonObject) -> None:
    """Wait until the server decides by a rule of a new role; a real one takes a moment."""
    resource, _, subresource = rule["resources"][0].partition("/")
    attributes = {
        "verb": rule["verbs"][0],
        "group": rule["apiGroups"][0],
        "resource": resource,
        "subresource": subresource,
    }
    kind = SubjectAccessReview
    review: JsonObject = {"apiVersion": kind.api_version, "kind": kind.kind}
    user = f"system:serviceaccount:{NAMESPACE}:{name}"
    review["spec"] = {"user": user, "resourceAttributes": attributes}
    async with asyncio.timeout(_EFFECTIVE_SECONDS):
        while not (await admin.create(review))["status"]["allowed"]:
            await asyncio.sleep(_POLL_SECONDS)
