"""Questions about access and identity, and tokens for service accounts."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.contract.samples import NAMESPACED
from tests.support.contract.transcript import Conversation, contract, difference
from tests.support.contract.users import (
    ROLE_BINDINGS,
    acting,
    as_user,
    binding,
    effective,
    grant,
    grant_everywhere,
    rule,
    user,
    withdraw_everywhere,
)

from certwright.apiserver import ApiServer
from certwright.client import connect

Json = dict[str, Any]

ACCESS = "/apis/authorization.k8s.io/v1"
IDENTITY = "/apis/authentication.k8s.io/v1"
ACCOUNTS = f"{NAMESPACED}/serviceaccounts"
AUDIENCE = "https://kubernetes.default.svc"
READING = rule("get list", "configmaps")


def review(kind: str, group: str = "authorization", **spec: Any) -> Json:
    return {"apiVersion": f"{group}.k8s.io/v1", "kind": kind, "spec": spec}


def wanting(verb: str, resource: str, **rest: str) -> Json:
    return {"resourceAttributes": {"verb": verb, "resource": resource, **rest}}


@contract
async def test_may_i(api: Conversation) -> None:
    await grant(api, "r", user("jane"), READING)
    path, kind = f"{ACCESS}/selfsubjectaccessreviews", "SelfSubjectAccessReview"
    jane = as_user(api, "jane")
    for wanted in (
        wanting("list", "configmaps", namespace=api.namespace),
        wanting("get", "configmaps", namespace=api.namespace, name="a", version="v1"),
        wanting("list", "configmaps", namespace="default"),
        wanting("list", "configmaps"),
        wanting("delete", "configmaps", namespace=api.namespace),
        wanting("list", "configmaps", namespace=api.namespace, group="apps"),
        wanting("get", "configmaps", namespace=api.namespace, subresource="status"),
        {"nonResourceAttributes": {"verb": "get", "path": "/apis"}},
        {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}},
        {"nonResourceAttributes": {"verb": "post", "path": "/apis"}},
    ):
        await jane.post(path, review(kind, **wanted))
    await api.post(path, review(kind, **wanting("list", "configmaps")))


@contract
async def test_reviews_of_the_wrong_shape(api: Conversation) -> None:
    path, kind = f"{ACCESS}/selfsubjectaccessreviews", "SelfSubjectAccessReview"
    wanted = wanting("list", "configmaps")
    paths: dict[str, Any] = {"nonResourceAttributes": {"verb": "get", "path": "/x"}}
    await api.post(path, review(kind))
    await api.post(path, {"apiVersion": f"{ACCESS[6:]}", "kind": kind})
    await api.post(path, review(kind, **wanted, **paths))
    await api.post(path, review("SubjectAccessReview", **wanted))
    await api.post(path, {**review(kind, **wanted), "metadata": {"name": "a"}})
    await api.post(path, {**review(kind, **wanted), "metadata": {"labels": {"a": "b"}}})
    await api.post(path, {**review(kind, **wanted), "status": {"allowed": False}})
    await api.post(f"{ACCESS}/subjectaccessreviews", review("SubjectAccessReview", **wanted))
    await api.post(path, review(kind, **wanted, unheard="of"))
    await api.post(f"{path}?fieldValidation=Strict", review(kind, **wanted, unheard="of"))
    await api.post(f"{path}?dryRun=All", review(kind, **wanted))
    await api.get(path)
    await api.get(f"{path}/a")
    await api.delete(path)


@contract
async def test_may_they(api: Conversation) -> None:
    devs = f"devs-{api.namespace}"
    await grant(api, "r", user("jane"), READING)
    await grant(api, "g", {**user(devs), "kind": "Group"}, rule("delete", "configmaps"))
    path, kind = f"{ACCESS}/subjectaccessreviews", "SubjectAccessReview"
    wanted = wanting("list", "configmaps", namespace=api.namespace)
    gone = wanting("delete", "configmaps", namespace=api.namespace)
    await api.post(path, review(kind, user="jane", **wanted))
    await api.post(path, review(kind, user="joe", **wanted))
    await api.post(path, review(kind, user="joe", groups=[devs], **gone))
    await api.post(path, review(kind, groups=[devs], **gone))
    await api.post(path, review(kind, user="joe", groups=["system:masters"], **gone))
    await api.post(path, review(kind, user="joe", uid="1", extra={"a": ["b"]}, **gone))
    await as_user(api, "jane").post(path, review(kind, user="jane", **wanted))


@contract
async def test_a_binding_to_nothing_is_named(api: Conversation) -> None:
    await api.post(ROLE_BINDINGS, binding("b", "Role/missing", user("jane")), recorded=False)
    await api.post(ROLE_BINDINGS, binding("c", "Role/gone", user("jane")), recorded=False)
    await grant(api, "r", user("jane"), READING)
    path, kind = f"{ACCESS}/subjectaccessreviews", "SubjectAccessReview"
    wanted = wanting("list", "configmaps", namespace=api.namespace)
    unwanted = wanting("delete", "configmaps", namespace=api.namespace)
    await api.post(path, review(kind, user="jane", **wanted))
    answer = await api.post(path, review(kind, user="jane", **unwanted), recorded=False)
    api.note(sorted(answer.body["status"]["reason"].removeprefix("RBAC: ")))


@contract
async def test_what_may_i(api: Conversation) -> None:
    jane, path = f"jane-{api.namespace}", f"{ACCESS}/selfsubjectrulesreviews"
    named = rule("get", "secrets", names="a b")
    await grant(api, "r", user(jane), READING, named)
    paths: dict[str, Any] = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    await grant_everywhere(api, "all", user(jane), rule("*", "nodes"), paths)
    for namespace in (api.namespace, "default"):
        body = review("SelfSubjectRulesReview", namespace=namespace)
        answer = await as_user(api, jane).post(path, body, recorded=False)
        status = answer.body.pop("status")
        api.note(answer.body)
        # The server does not say in which order bindings are looked at.
        api.note({name: sorted(map(repr, map(_sorted, status.pop(name)))) for name in
                  ("resourceRules", "nonResourceRules")})  # fmt: skip
        api.note(status)
    await as_user(api, jane).post(path, review("SelfSubjectRulesReview"))
    await withdraw_everywhere(api, "all")


def _sorted(given: Json) -> list[tuple[str, Any]]:
    return sorted(given.items())


@contract
async def test_who_am_i(api: Conversation) -> None:
    path, kind = f"{IDENTITY}/selfsubjectreviews", review("SelfSubjectReview", "authentication")
    del kind["spec"]
    await as_user(api, "jane").post(path, kind)
    await as_user(api, "jane", "devs", "ops").post(path, kind)
    await as_user(api, "system:serviceaccount:{ns}:robot").post(path, kind)
    await as_user(api, "system:serviceaccount:{ns}:robot", "devs").post(path, kind)
    somebody = ("Impersonate-User", "jane")
    await acting(api, somebody, ("Impersonate-Uid", "1234")).post(path, kind)
    scopes = ("Impersonate-Extra-Scopes", "view"), ("Impersonate-Extra-Scopes", "edit")
    await acting(api, somebody, *scopes).post(path, kind)
    await acting(api, somebody, ("Impersonate-Extra-example.com%2fx", "y")).post(path, kind)
    await as_user(api, "jane").post(path, {**kind, "metadata": {"name": "a"}})
    await as_user(api, "jane").post(path, {})
    await as_user(api, "jane").get(path)


@contract
async def test_tokens_for_service_accounts(api: Conversation) -> None:
    path = f"{ACCOUNTS}/default/token"
    asked = review("TokenRequest", "authentication")
    for body in (
        asked,
        {},
        review("TokenRequest", "authentication", expirationSeconds=600),
        review("TokenRequest", "authentication", audiences=["vault"]),
    ):
        answer = await api.post(path, body, recorded=False)
        answer.body["status"]["token"] = "<token>"
        api.note([answer.status, answer.body])
    await api.post(path, review("TokenRequest", "authentication", expirationSeconds=599))
    await api.post(path, review("TokenRequest", "authentication", expirationSeconds=2**33))
    await api.post(path, {**asked, "metadata": {"name": "other"}})
    await api.post(f"{ACCOUNTS}/none/token", asked)
    await api.get(path)


@contract
async def test_whose_token_is_this(api: Conversation) -> None:
    path, kind = f"{IDENTITY}/tokenreviews", "TokenReview"
    asked = review("TokenRequest", "authentication")
    made = await api.post(f"{ACCOUNTS}/default/token", asked, recorded=False)
    token = made.body["status"]["token"]
    for spec in ({"token": token}, {"token": token, "audiences": [AUDIENCE, "other"]}):
        answer = await api.post(path, review(kind, "authentication", **spec), recorded=False)
        answer.body["spec"]["token"] = "<token>"
        # Which credential it was: known difference.
        answer.body["status"]["user"].pop("extra", None)
        api.note([answer.status, answer.body])
    await api.post(path, review(kind, "authentication", token="nonsense"), same_words=False)
    await api.post(path, review(kind, "authentication"))
    await as_user(api, "jane").post(path, review(kind, "authentication", token="x"))


async def _robot_acts(robot: Conversation) -> None:
    name = "Impersonate-User"
    maps = f"{NAMESPACED}/configmaps/a"
    await robot.get(maps)
    for headers in (
        [(name, "joe")],
        [(name, "jim")],
        [(name, "joe"), ("Impersonate-Group", "devs")],
        [(name, "joe"), ("Impersonate-Group", "devs"), ("Impersonate-Group", "system:masters")],
        [(name, "system:serviceaccount:default:default")],
        [(name, f"system:serviceaccount:{robot.namespace}:default")],
        [(name, "joe"), ("Impersonate-Uid", "1")],
        [(name, "joe"), ("Impersonate-Extra-scopes", "view")],
        [("Impersonate-Group", "devs")],
        [(name, "system:anonymous")],
    ):
        await acting(robot, *headers).get(maps)
        await acting(robot, *headers).watch(f"{NAMESPACED}/configmaps", 1)


async def _allow_robot(api: Conversation) -> None:
    robot = {"kind": "ServiceAccount", "name": "robot", "namespace": api.namespace}
    await api.post(ACCOUNTS, {"metadata": {"name": "robot"}}, recorded=False)
    acts = rule("impersonate", "users", names="joe")
    await grant_everywhere(api, "act", robot, acts, rule("impersonate", "groups", names="devs"))
    await grant(api, "here", robot, rule("impersonate", "serviceaccounts"))
    await grant(api, "joe", user("joe"), rule("get", "configmaps"))
    await effective(api, robot, acts, "")


@pytest.mark.real
async def test_acting_as_somebody_else_must_be_allowed(
    real: Conversation, control_plane_kubeconfig: Path, tmp_path: Path
) -> None:
    embedded = ApiServer(namespace_defaults=True, rbac=True)
    ours = Conversation(embedded.transport(), real.namespace)
    namespace = {"metadata": {"name": real.namespace}}
    await ours.post("/api/v1/namespaces", namespace, recorded=False)
    for api in (ours, real):
        await _allow_robot(api)
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{real.namespace}"]
    account = f"system:serviceaccount:{real.namespace}:robot"
    ours.transport = embedded.transport(account, [*groups, "system:authenticated"])
    await _robot_acts(ours)

    issued = await real.post(f"{ACCOUNTS}/robot/token", {}, recorded=False)
    kubeconfig = tmp_path / "kubeconfig"
    _write_with_token(kubeconfig, control_plane_kubeconfig, issued.body["status"]["token"])
    async with connect(kubeconfig=kubeconfig) as client:
        theirs = Conversation(client.transport, real.namespace)
        await _robot_acts(theirs)
    await withdraw_everywhere(real, "act")
    found = difference(ours.heard, theirs.heard)
    assert not found, found


def _write_with_token(kubeconfig: Path, other: Path, token: str) -> None:
    config = yaml.safe_load(other.read_text())
    config["users"][0]["user"] = {"token": token}
    kubeconfig.write_text(yaml.safe_dump(config))
