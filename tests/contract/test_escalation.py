"""Nobody gives away more than they have, unless they may."""

from tests.support.contract.transcript import Conversation, contract
from tests.support.contract.users import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    RBAC,
    ROLE_BINDINGS,
    ROLES,
    as_user,
    binding,
    grant,
    grant_everywhere,
    role,
    rule,
    user,
    withdraw_everywhere,
)


@contract
async def test_nobody_gives_more_than_they_have(api: Conversation) -> None:
    await grant(
        api,
        "roles",
        user("jane"),
        rule("create update patch get", "roles rolebindings", RBAC),
        rule("get list", "configmaps"),
        rule("get", "secrets", names="a"),
    )
    jane = as_user(api, "jane")
    await jane.post(ROLES, role("less", rule("get", "configmaps")))
    await jane.post(ROLES, role("more", rule("get delete", "configmaps")))
    await jane.post(ROLES, role("other", rule("get", "pods services"), rule("get", "configmaps")))
    await jane.post(ROLES, role("named", rule("get", "secrets", names="a")))
    await jane.post(ROLES, role("all", rule("get", "secrets")))
    await jane.post(ROLES, role("star", rule("*", "*", "*")))
    await jane.merge(f"{ROLES}/less", {"rules": [rule("get delete", "configmaps")]})
    await jane.merge(f"{ROLES}/less", {"metadata": {"labels": {"a": "b"}}})
    await jane.put(f"{ROLES}/less", role("less", rule("list", "configmaps")))
    wanted = role("applied", rule("list", "secrets"))
    await jane.apply(f"{ROLES}/applied", wanted, "me")
    await jane.post(ROLES + "?dryRun=All", role("dry", rule("list", "secrets")))


@contract
async def test_nobody_binds_what_they_do_not_have(api: Conversation) -> None:
    await api.post(ROLES, role("strong", rule("delete", "secrets")), recorded=False)
    await api.post(ROLES, role("weak", rule("get", "configmaps")), recorded=False)
    await grant(
        api,
        "roles",
        user("jane"),
        rule("create update patch get", "rolebindings", RBAC),
        rule("get", "configmaps"),
    )
    jane = as_user(api, "jane")
    await jane.post(ROLE_BINDINGS, binding("a", "Role/strong", user("joe")))
    await jane.post(ROLE_BINDINGS, binding("b", "Role/weak", user("joe")))
    await jane.post(ROLE_BINDINGS, binding("c", "Role/missing", user("joe")))
    await jane.post(ROLE_BINDINGS, binding("d", "ClusterRole/cluster-admin", user("joe")))
    await api.post(ROLE_BINDINGS, binding("e", "Role/strong", user("joe")))
    await jane.merge(f"{ROLE_BINDINGS}/e", {"subjects": [user("jane")]})
    await jane.merge(f"{ROLE_BINDINGS}/e", {"metadata": {"labels": {"a": "b"}}})


@contract
async def test_who_may_escalate_and_bind(api: Conversation) -> None:
    powerful = rule("create escalate bind", "roles rolebindings", RBAC)
    await grant(api, "roles", user("jane"), powerful)
    jane = as_user(api, "jane")
    await jane.post(ROLES, role("strong", rule("delete", "secrets")))
    await jane.post(ROLE_BINDINGS, binding("b", "Role/strong", user("joe")))
    await jane.post(ROLE_BINDINGS, binding("c", "ClusterRole/cluster-admin", user("joe")))


@contract
async def test_nobody_gives_more_than_they_have_everywhere(api: Conversation) -> None:
    jane, name = f"jane-{api.namespace}", f"x-{api.namespace}"
    powerful = rule("create update patch get", "clusterroles clusterrolebindings", RBAC)
    await grant_everywhere(api, "roles", user(jane), powerful)
    me = as_user(api, jane)
    await me.post(CLUSTER_ROLES, role(name, rule("get", "nodes"), kind="ClusterRole"))
    paths = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    await me.post(CLUSTER_ROLES, role(name, paths, kind="ClusterRole"))
    gathered = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    await me.post(CLUSTER_ROLES, role(name, kind="ClusterRole", aggregationRule=gathered))
    bound = binding(name, "ClusterRole/system:monitoring", user("joe"), kind="ClusterRoleBinding")
    await me.post(CLUSTER_ROLE_BINDINGS, bound)
    await withdraw_everywhere(api, "roles")
