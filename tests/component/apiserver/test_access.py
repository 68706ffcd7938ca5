"""RBAC: who may do what, and how to ask."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api, SetClock, request

from certwright.apiserver import ApiServer, UserInfo, service_account
from certwright.kube import JsonObject

RBAC = "/apis/rbac.authorization.k8s.io/v1"
JANE = UserInfo("jane", ("devs", "system:authenticated"))


@pytest.fixture
def server(clock: SetClock) -> ApiServer:
    return ApiServer(clock=clock)


@pytest.fixture
def jane(server: ApiServer, api_of: type[Api]) -> Api:
    return api_of(server, JANE)


@pytest.fixture
def grant(api: Api) -> Callable[..., Any]:
    """Let jane do something, in a namespace or everywhere."""

    def bind(
        *rules: JsonObject, namespace: str = "", subject: dict[str, str] | None = None
    ) -> None:
        where = f"{RBAC}/namespaces/{namespace}" if namespace else RBAC
        scope = "" if namespace else "Cluster"
        plural = "roles" if namespace else "clusterroles"
        api.create(f"{where}/{plural}", {"metadata": {"name": "r"}, "rules": list(rules)})
        subject = subject or {
            "kind": "User",
            "name": "jane",
            "apiGroup": "rbac.authorization.k8s.io",
        }
        created = api.create(
            f"{where}/{scope.lower()}rolebindings",
            {
                "metadata": {"name": "b"},
                "subjects": [subject],
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": f"{scope}Role",
                    "name": "r",
                },
            },
        )
        assert created.status == 201, created.body

    return bind


def rule(
    verbs: list[str], resources: list[str], groups: list[str] | tuple[str] = ("",), **more: Any
) -> JsonObject:
    return {"verbs": verbs, "resources": resources, "apiGroups": list(groups), **more}


def test_nothing_is_allowed_by_itself(jane: Api, maps: str) -> None:
    refusal = jane.get(maps)

    assert refusal.status == 403
    assert refusal.message == (
        'configmaps is forbidden: User "jane" cannot list resource "configmaps" in API group "" in '
        'the namespace "default"'
    )
    assert refusal.body["details"] == {"kind": "configmaps"}


def test_refusals_name_object_subresource_group_and_scope(jane: Api) -> None:
    refusal = jane.merge("/apis/apps/v1/namespaces/default/deployments/web/status", {})
    assert refusal.message == (
        'deployments.apps "web" is forbidden: User "jane" cannot patch resource '
        '"deployments/status" in API group "apps" in the namespace "default"'
    )
    assert jane.get("/api/v1/nodes").message.endswith("at the cluster scope")
    assert jane.get("/metrics").message == 'forbidden: User "jane" cannot get path "/metrics"'


def test_a_role_counts_in_its_namespace(jane: Api, grant: Callable[..., Any], maps: str) -> None:
    grant(rule(["list"], ["configmaps"]), namespace="default")

    assert jane.get(maps).status == 200
    assert jane.get("/api/v1/namespaces/kube-system/configmaps").status == 403
    assert jane.get("/api/v1/configmaps").status == 403
    assert jane.delete(f"{maps}/a").status == 403


def test_a_cluster_role_counts_everywhere(jane: Api, grant: Callable[..., Any], maps: str) -> None:
    grant(rule(["*"], ["*"]))

    assert jane.get(maps).status == 200
    assert jane.get("/api/v1/nodes").status == 200
    assert jane.get("/apis/apps/v1/deployments").status == 403, "another group"


def test_a_role_can_be_limited_to_names(
    jane: Api, api: Api, grant: Callable[..., Any], maps: str, config_map: Callable[..., Any]
) -> None:
    api.create(maps, config_map("mine"))
    grant(
        rule(["get", "list", "watch", "create"], ["configmaps"], resourceNames=["mine"]),
        namespace="default",
    )

    assert jane.get(f"{maps}/mine").status == 200
    assert jane.get(f"{maps}/other").status == 403
    assert jane.get(maps, fieldSelector="metadata.name=mine").status == 200
    assert jane.get(maps).status == 403
    assert jane.create(maps, config_map("mine2")).status == 403, "a new object has no name yet"


def test_subresources_are_granted_apart(jane: Api, grant: Callable[..., Any]) -> None:
    grant(rule(["patch"], ["deployments/status"], ["apps"]), namespace="default")
    path = "/apis/apps/v1/namespaces/default/deployments/web"

    assert jane.merge(f"{path}/status", {}).status == 404
    assert jane.merge(path, {}).status == 403


@pytest.mark.parametrize(
    "subject",
    [
        {"kind": "Group", "name": "devs", "apiGroup": "rbac.authorization.k8s.io"},
        {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"},
    ],
)
def test_users_and_groups_are_bound(
    jane: Api, grant: Callable[..., Any], maps: str, subject: dict[str, str]
) -> None:
    grant(rule(["list"], ["configmaps"]), subject=subject)

    assert jane.get(maps).status == 200


def test_service_accounts_are_bound(
    server: ApiServer, api_of: type[Api], grant: Callable[..., Any], maps: str
) -> None:
    grant(
        rule(["list"], ["configmaps"]),
        subject={"kind": "ServiceAccount", "name": "sa", "namespace": "kube-system"},
    )

    assert api_of(server, service_account("kube-system", "sa")).get(maps).status == 200
    assert api_of(server, service_account("default", "sa")).get(maps).status == 403


def test_apply_that_creates_needs_both_verbs(
    jane: Api, grant: Callable[..., Any], maps: str, config_map: Callable[..., Any]
) -> None:
    grant(rule(["patch"], ["configmaps"]), namespace="default")

    refusal = jane.apply(f"{maps}/a", config_map("a"), fieldManager="me")

    assert refusal.status == 403
    assert 'cannot create resource "configmaps"' in refusal.message


def test_everybody_may_look_around(jane: Api) -> None:
    assert jane.get("/apis").status == 200
    assert jane.get("/version").status == 200
    assert jane.get("/openapi/v3").status == 200


def test_roles_are_aggregated(jane: Api, api: Api, grant: Callable[..., Any]) -> None:
    grant(rule(["list"], ["configmaps"]))
    api.create(
        f"{RBAC}/clusterroles",
        {
            "metadata": {
                "name": "widgets",
                "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"},
            },
            "rules": [rule(["list"], ["widgets"], ["example.com"])],
        },
    )

    rules = api.get(f"{RBAC}/clusterroles/edit").body["rules"]

    assert rule(["list"], ["widgets"], ["example.com"]) in rules, "edit contains view"


def test_asking_about_oneself(jane: Api, grant: Callable[..., Any]) -> None:
    grant(rule(["list"], ["configmaps"]), namespace="default")

    def ask(verb: str, namespace: str) -> JsonObject:
        attributes = {"verb": verb, "resource": "configmaps", "namespace": namespace}
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        value: JsonObject = jane.create(path, {"spec": {"resourceAttributes": attributes}}).body[
            "status"
        ]
        return value

    assert ask("list", "default") == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "b/default" of Role "r" to User "jane"',
    }
    assert ask("list", "kube-system") == {"allowed": False}
    assert ask("delete", "default") == {"allowed": False}


def test_asking_about_others(api: Api, grant: Callable[..., Any]) -> None:
    grant(rule(["list"], ["configmaps"]))
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    attributes = {"verb": "list", "resource": "configmaps"}

    def allowed(user: str) -> bool:
        spec = {"user": user, "resourceAttributes": attributes}
        value: bool = api.create(path, {"spec": spec}).body["status"]["allowed"]
        return value

    assert allowed("jane")
    assert not allowed("joe")


def test_who_one_is(jane: Api) -> None:
    review = jane.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})

    assert review.status == 201
    assert review.body["status"]["userInfo"] == {
        "username": "jane",
        "groups": ["devs", "system:authenticated"],
    }


def test_what_one_may_do(jane: Api, grant: Callable[..., Any]) -> None:
    grant(rule(["list"], ["configmaps"]), namespace="default")
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"

    status = jane.create(path, {"spec": {"namespace": "default"}}).body["status"]

    assert rule(["list"], ["configmaps"]) in status["resourceRules"]
    assert status["incomplete"] is False


def test_acting_as_somebody_else(api: Api, maps: str) -> None:
    refusal = api.get(maps, headers=[("Impersonate-User", "jane")])

    assert refusal.status == 403
    assert 'User "jane"' in refusal.message


def test_acting_as_somebody_else_must_be_allowed(jane: Api, maps: str) -> None:
    refusal = jane.get(maps, headers=[("Impersonate-User", "kubernetes-admin")])

    assert refusal.status == 403
    assert 'User "jane" cannot impersonate resource "users"' in refusal.message


def test_a_watch_of_what_is_no_resource_is_answered_as_another_user(api: Api) -> None:
    jane = [("Impersonate-User", "jane")]
    assert api.server.watch(request("GET", "/version", watch="1", headers=jane)).status == 200
    assert api.server.watch(request("GET", "/metrics", watch="1", headers=jane)).status == 403


def test_acting_in_a_group(api: Api, maps: str) -> None:
    headers = [("Impersonate-User", "jane"), ("Impersonate-Group", "system:masters")]

    assert api.get(maps, headers=headers).status == 200


def test_without_rbac_everybody_may_do_everything(
    clock: SetClock, api_of: type[Api], maps: str
) -> None:
    assert api_of(ApiServer(clock=clock, rbac=False), JANE).get(maps).status == 200


def test_nobody_grants_more_than_they_have(jane: Api, grant: Callable[..., Any]) -> None:
    grant(
        rule(["create"], ["roles"], ["rbac.authorization.k8s.io"]),
        rule(["get"], ["configmaps"]),
        namespace="default",
    )
    path = f"{RBAC}/namespaces/default/roles"

    less = jane.create(path, {"metadata": {"name": "x"}, "rules": [rule(["get"], ["configmaps"])]})
    more = jane.create(path, {"metadata": {"name": "y"}, "rules": [rule(["get"], ["secrets"])]})

    assert less.status == 201
    assert more.status == 403
    assert more.message.endswith('{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}')


def test_nobody_binds_what_they_do_not_have(jane: Api, grant: Callable[..., Any]) -> None:
    grant(
        rule(["create"], ["rolebindings"], ["rbac.authorization.k8s.io"]),
        rule(["bind"], ["clusterroles"], ["rbac.authorization.k8s.io"], resourceNames=["view"]),
        namespace="default",
    )

    def bind(role: str) -> int:
        reference = {"apiGroup": RBAC.split("/")[2], "kind": "ClusterRole", "name": role}
        body = {"metadata": {"name": role}, "roleRef": reference, "subjects": []}
        return jane.create(f"{RBAC}/namespaces/default/rolebindings", body).status

    assert bind("view") == 201, "who may bind a role need not have its rights"
    assert bind("edit") == 403


def test_a_binding_to_nothing_is_named_in_refusals(
    jane: Api, api: Api, grant: Callable[..., Any], maps: str
) -> None:
    grant(rule(["list"], ["secrets"]), namespace="default")
    api.delete(f"{RBAC}/namespaces/default/roles/r")

    assert jane.get(maps).message.endswith('RBAC: role.rbac.authorization.k8s.io "r" not found')
