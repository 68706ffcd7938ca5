"""Who may do what, and how it is refused. Users are impersonated by an administrator."""

from base64 import b64encode

import pytest
from tests.support.contract.samples import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    GADGETS,
    NAMESPACED,
    PODS,
    SECRETS,
    config_map,
    deployment,
    gadget,
    install_gadgets,
    secret,
)
from tests.support.contract.transcript import Conversation, contract
from tests.support.contract.users import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    account,
    acting,
    as_user,
    binding,
    effective,
    grant,
    grant_everywhere,
    group,
    role,
    rule,
    until_added_up,
    user,
    withdraw_everywhere,
)

from certwright import pki
from certwright.kube import JsonObject

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"
ACCOUNTS = f"{NAMESPACED}/serviceaccounts"
CERTIFICATES = "certificates.k8s.io"
SIGNING = "certificatesigningrequests"
OTHER = "/api/v1/namespaces/default"


@contract
async def test_nobody_may_do_anything_by_default(api: Conversation) -> None:
    await api.post(CONFIG_MAPS, config_map("a"), recorded=False)
    jane = as_user(api, "jane")
    for path in (CONFIG_MAPS, DEPLOYMENTS):
        await jane.get(path)
        await jane.get(f"{path}/a")
        await jane.delete(path)
        await jane.delete(f"{path}/a")
        await jane.merge(f"{path}/a", {})
        await jane.apply(f"{path}/a", {}, "me")
    await jane.post(CONFIG_MAPS, config_map("b"))
    await jane.put(f"{CONFIG_MAPS}/a", config_map("a"))
    await jane.post(DEPLOYMENTS, deployment("b"))
    await jane.get("/api/v1/configmaps")
    await jane.get("/api/v1/nodes")
    await jane.get("/api/v1/nodes/n")
    await jane.get("/api/v1/namespaces")
    await jane.get("/api/v1/namespaces/{ns}")
    await jane.delete("/api/v1/namespaces/{ns}")


@contract
async def test_refused_watches(api: Conversation) -> None:
    jane = as_user(api, "jane")
    await jane.watch(CONFIG_MAPS, 1)
    await jane.watch("/api/v1/configmaps", 1)
    await jane.watch(f"{CONFIG_MAPS}?fieldSelector=metadata.name=a", 1)
    await jane.watch("/apis/apps/v1/deployments", 1)
    await jane.get(f"{CONFIG_MAPS}/a?watch=true")


@contract
async def test_refused_subresources(api: Conversation) -> None:
    await install_gadgets(api)
    jane = as_user(api, "jane")
    await jane.get(f"{DEPLOYMENTS}/a/status")
    await jane.put(f"{DEPLOYMENTS}/a/scale", {})
    await jane.merge(f"{GADGETS}/a/status", {"status": {}})
    await jane.get(f"{GADGETS}/a/scale")
    await jane.post(f"{PODS}/a/eviction", {})
    await jane.post(f"{ACCOUNTS}/default/token", {})
    await jane.get(f"{PODS}/a/log")
    await jane.merge("/api/v1/namespaces/{ns}/status", {})
    await jane.put("/api/v1/namespaces/{ns}/finalize", {})


@contract
async def test_refused_before_anything_else_is_looked_at(api: Conversation) -> None:
    jane = as_user(api, "jane")
    await jane.post(CONFIG_MAPS, b"{nonsense")
    await jane.get("/api/v1/namespaces/{ns}/unheardof")
    await jane.get("/apis/example.net/v1/namespaces/{ns}/unheardof/x")
    await jane.get("/apis/apps/v9/deployments")
    await jane.get(f"{CONFIG_MAPS}?labelSelector=!!")
    await jane.ask("PATCH", f"{CONFIG_MAPS}/a", b"{}", content_type="text/plain")
    await jane.put(CONFIG_MAPS, {})
    await jane.post(f"{CONFIG_MAPS}/a", {})


@contract
async def test_paths_that_are_no_resources(api: Conversation) -> None:
    jane = as_user(api, "jane")
    for path in ("/metrics", "/logs", "/nowhere", "/"):
        await jane.get(path)
    await jane.post("/metrics", {})
    await jane.delete("/version")
    await jane.ask("PATCH", "/healthz", {})
    jane_reads = [
        await jane.get(path, recorded=False)
        for path in ("/healthz", "/livez", "/readyz", "/version", "/api", "/apis", "/openapi/v2")
    ]
    api.note([answer.status for answer in jane_reads])


@contract
async def test_paths_can_be_granted(api: Conversation) -> None:
    jane = f"jane-{api.namespace}"
    rules = {"nonResourceURLs": ["/metrics", "/logs/*"], "verbs": ["get"]}
    await grant_everywhere(api, "paths", user(jane), rules)
    me = as_user(api, jane)
    found = await me.get("/metrics", recorded=False)
    api.note(found.status == 403)
    for path in ("/logs/x", "/logs/", "/logs"):
        found = await me.get(path, recorded=False)
        api.note((path, found.status == 403))
    await me.post("/metrics", {})
    await me.get("/metrics/x")
    await withdraw_everywhere(api, "paths")


@contract
async def test_a_role_counts_in_its_namespace(api: Conversation) -> None:
    await grant(api, "r", user("jane"), rule("get list create", "configmaps"))
    jane = as_user(api, "jane")
    await jane.post(CONFIG_MAPS, config_map("a"))
    await jane.get(f"{CONFIG_MAPS}/a")
    await jane.get(f"{CONFIG_MAPS}?fieldSelector=metadata.name=a")
    await jane.get(f"{CONFIG_MAPS}/none")
    await jane.delete(f"{CONFIG_MAPS}/a")
    await jane.get(f"{OTHER}/configmaps")
    await jane.get("/api/v1/configmaps")
    await jane.get(SECRETS)
    await as_user(api, "joe").get(CONFIG_MAPS)


@contract
async def test_a_cluster_role_can_be_bound_in_one_namespace(api: Conversation) -> None:
    name = f"reader-{api.namespace}"
    reading = rule("get list", "configmaps")
    await api.post(CLUSTER_ROLES, role(name, reading, kind="ClusterRole"))
    await api.post(ROLE_BINDINGS, binding("b", f"ClusterRole/{name}", user("jane")))
    await effective(api, user("jane"), reading, api.namespace)
    jane = as_user(api, "jane")
    await jane.get(f"{CONFIG_MAPS}/a")
    await jane.get(f"{OTHER}/configmaps/a")
    await api.delete(f"{CLUSTER_ROLES}/{name}", recorded=False)
    await effective(api, user("jane"), reading, api.namespace, allowed=False)
    await jane.get(f"{CONFIG_MAPS}/a")


@contract
async def test_a_cluster_role_binding_counts_everywhere(api: Conversation) -> None:
    jane = f"jane-{api.namespace}"
    await grant_everywhere(api, "all", user(jane), rule("get list", "configmaps nodes"))
    me = as_user(api, jane)
    await me.get(f"{CONFIG_MAPS}/a")
    await me.get(f"{OTHER}/configmaps/a")
    found = await me.get("/api/v1/configmaps?limit=1", recorded=False)
    api.note(found.status)
    await me.get("/api/v1/nodes")
    await me.delete("/api/v1/nodes")
    await withdraw_everywhere(api, "all")


@contract
async def test_rules_for_some_names(api: Conversation) -> None:
    verbs = "get list watch create patch delete deletecollection"
    await grant(api, "r", user("jane"), rule(verbs, "configmaps", names="a b"))
    await api.post(CONFIG_MAPS, config_map("a"), recorded=False)
    jane = as_user(api, "jane")
    await jane.get(f"{CONFIG_MAPS}/a")
    await jane.get(f"{CONFIG_MAPS}/c")
    await jane.get(CONFIG_MAPS)
    await jane.get(f"{CONFIG_MAPS}?fieldSelector=metadata.name=a")
    await jane.get(f"{CONFIG_MAPS}?fieldSelector=metadata.name=c")
    await jane.get(f"{CONFIG_MAPS}?fieldSelector=metadata.name!=a")
    await jane.watch(f"{CONFIG_MAPS}?fieldSelector=metadata.name%3Da", 1)
    await jane.post(CONFIG_MAPS, config_map("b"))
    await jane.apply(f"{CONFIG_MAPS}/b", {"apiVersion": "v1", "kind": "ConfigMap"}, "me")
    await jane.delete(CONFIG_MAPS)
    await jane.delete(f"{CONFIG_MAPS}?fieldSelector=metadata.name=a")
    await jane.delete(f"{CONFIG_MAPS}/a")


@contract
async def test_rules_for_subresources(api: Conversation) -> None:
    await install_gadgets(api)
    await api.post(GADGETS, gadget("a", spec={"size": 1, "replicas": 1}), recorded=False)
    group_name = "contract.example.com"
    await grant(api, "r", user("jane"), rule("patch get", "gadgets/status", group_name))
    await grant(api, "s", user("joe"), rule("get", "*/scale", group_name))
    await grant(api, "t", user("jim"), rule("get", "gadgets", group_name))
    for name in ("jane", "joe", "jim"):
        someone = as_user(api, name)
        await someone.merge(f"{GADGETS}/a/status", {"status": {"phase": name}})
        await someone.merge(f"{GADGETS}/a", {"spec": {"size": 2}})
        await someone.get(f"{GADGETS}/a")
        await someone.get(f"{GADGETS}/a/scale")
        await someone.get(f"{GADGETS}/a/status")


@pytest.mark.parametrize(
    "given",
    [
        rule("*", "configmaps"),
        rule("get delete", "*"),
        rule("get", "configmaps", "*"),
        rule("*", "*", "*"),
        rule("get", "*/status", "*"),
        rule("*", "configmaps/*"),
        rule("get", "secrets", "*"),
        rule("GET", "configmaps"),
        rule("get", "ConfigMaps"),
        rule("get", "configmap"),
    ],
    ids=str,
)
@contract
async def test_stars(api: Conversation, given: JsonObject) -> None:
    await grant(api, "r", user("jane"), given)
    jane = as_user(api, "jane")
    await jane.get(f"{CONFIG_MAPS}/a")
    await jane.delete(f"{CONFIG_MAPS}/a")
    await jane.get(f"{DEPLOYMENTS}/a/status")
    await jane.get(f"{LEASES}/a")
    await jane.get(SECRETS)


@contract
async def test_groups(api: Conversation) -> None:
    devs = f"devs-{api.namespace}"
    await grant(api, "r", group(devs), rule("get", "configmaps"))
    await as_user(api, "jane", devs).get(f"{CONFIG_MAPS}/a")
    await as_user(api, "jane", "ops", devs).get(f"{CONFIG_MAPS}/a")
    await as_user(api, "jane", "ops").get(f"{CONFIG_MAPS}/a")
    await as_user(api, "jane").get(f"{CONFIG_MAPS}/a")
    await as_user(api, devs).get(f"{CONFIG_MAPS}/a")
    await as_user(api, "jane", "system:masters").get(f"{CONFIG_MAPS}/a")


@contract
async def test_everybody_who_is_known(api: Conversation) -> None:
    await grant(api, "r", group("system:authenticated"), rule("get", "configmaps"))
    await as_user(api, "jane").get(f"{CONFIG_MAPS}/a")
    await as_user(api, "system:anonymous").get(f"{CONFIG_MAPS}/a")
    await as_user(api, "system:serviceaccount:{ns}:robot").get(f"{CONFIG_MAPS}/a")


@contract
async def test_users_who_show_no_credentials(api: Conversation) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    for groups in ((), ("devs",), ("system:unauthenticated",), ("system:authenticated",)):
        for name in ("system:anonymous", "jane"):
            somebody = as_user(api, name, *groups)
            await somebody.get("/livez")
            await somebody.get("/apis/nowhere")
            await somebody.get(f"{CONFIG_MAPS}/a")
            await somebody.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)


@contract
async def test_verdicts_and_certificates_need_the_right_to_act_for_the_signer(
    api: Conversation,
) -> None:
    jane, signer = f"jane-{api.namespace}", "pki.example.com/sales"
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    name = f"r-{api.namespace}"
    write = rule("update patch", f"{SIGNING}/approval {SIGNING}/status", CERTIFICATES)
    await grant_everywhere(api, "write", user(jane), write, rule("get", SIGNING, CERTIFICATES))
    asked = {"signerName": signer, "usages": ["client auth"], "request": signing_request()}
    await api.post(path, {"metadata": {"name": name}, "spec": asked}, recorded=False)
    approved = {"type": "Approved", "status": "True", "reason": "R", "message": "M"}
    failed = {"type": "Failed", "status": "True", "reason": "R", "message": "M"}

    async def try_all() -> None:
        somebody = as_user(api, jane)
        now = await api.get(f"{path}/{name}", recorded=False)
        verdict = {**now.body, "status": {"conditions": [approved]}}
        answers = [await somebody.put(f"{path}/{name}/approval", verdict, recorded=False)]
        patches: list[JsonObject] = [{"status": {}}, {"metadata": {"labels": {"a": "b"}}}]
        for patch in patches:
            patched = await somebody.merge(f"{path}/{name}/status", patch, recorded=False)
            answers.append(patched)
        now = await api.get(f"{path}/{name}", recorded=False)
        conditions = [*(now.body["status"].get("conditions") or ()), failed]
        signed = {**now.body, "status": {"conditions": conditions}}
        answers.append(await somebody.put(f"{path}/{name}/status", signed, recorded=False))
        # Who asked, and for which key, differs in what is accepted.
        api.note([[answer.status, answer.body.get("message")] for answer in answers])

    await try_all()
    other = rule("approve sign", "signers", CERTIFICATES, "other.example.com/*")
    await grant_everywhere(api, "other", user(jane), other)
    await try_all()
    wide = rule("approve", "signers", CERTIFICATES, "pki.example.com/*")
    await grant_everywhere(api, "wide", user(jane), wide)
    await try_all()
    exact = rule("sign", "signers", CERTIFICATES, signer)
    await grant_everywhere(api, "exact", user(jane), exact)
    await try_all()
    await api.delete(f"{path}/{name}", recorded=False)
    await withdraw_everywhere(api, "write", "other", "wide", "exact")


def signing_request() -> str:
    key = pki.generate_key(pki.KeySpec())
    request = pki.build_request(key, pki.parse_name("CN=jane"), pki.AlternativeNames())
    return b64encode(pki.write_request(request)).decode()


@contract
async def test_service_accounts(api: Conversation) -> None:
    await grant(api, "r", account("robot", api.namespace), rule("get", "configmaps"))
    name = "system:serviceaccount:{ns}:robot"
    await as_user(api, name).get(f"{CONFIG_MAPS}/a")
    await as_user(api, name).get(f"{SECRETS}/a")
    await as_user(api, name, "system:authenticated").get(f"{CONFIG_MAPS}/a")
    await as_user(api, "system:serviceaccount:default:robot").get(f"{CONFIG_MAPS}/a")
    everyone = group(f"system:serviceaccounts:{api.namespace}")
    await grant(api, "s", everyone, rule("get", "secrets"))
    await as_user(api, name).get(f"{SECRETS}/a")
    await as_user(api, name, "system:authenticated").get(f"{SECRETS}/a")
    await as_user(api, "system:serviceaccount:default:robot").get(f"{SECRETS}/a")


@contract
async def test_a_service_account_without_namespace_means_that_of_the_binding(
    api: Conversation,
) -> None:
    reading = rule("get", "configmaps")
    await api.post(ROLES, role("r", reading))
    subject = {"kind": "ServiceAccount", "name": "robot"}
    await api.post(ROLE_BINDINGS, binding("b", "Role/r", subject))
    await api.post(ROLE_BINDINGS, binding("c", "Role/r", user("jane")))
    await effective(api, user("jane"), reading, api.namespace)
    await as_user(api, "system:serviceaccount:{ns}:robot").get(f"{CONFIG_MAPS}/a")


@contract
async def test_a_binding_to_a_role_that_is_missing_grants_nothing(api: Conversation) -> None:
    await api.post(ROLE_BINDINGS, binding("b", "Role/missing", user("jane")))
    await effective(api, user("jane"), rule("get", "configmaps"), api.namespace, allowed=False)
    await api.post(ROLES, role("missing", rule("get", "configmaps")))
    await effective(api, user("jane"), rule("get", "configmaps"), api.namespace)
    await as_user(api, "jane").get(f"{CONFIG_MAPS}/a")


@contract
async def test_rights_end_with_their_binding(api: Conversation) -> None:
    reading = rule("get", "configmaps")
    await grant(api, "r", user("jane"), reading)
    await as_user(api, "jane").get(f"{CONFIG_MAPS}/a")
    await api.delete(f"{ROLE_BINDINGS}/r")
    await effective(api, user("jane"), reading, api.namespace, allowed=False)
    await as_user(api, "jane").get(f"{CONFIG_MAPS}/a")


@contract
async def test_cluster_roles_made_of_others(api: Conversation) -> None:
    label = {"example.com/whole": api.namespace}
    whole, one, two = (f"{name}-{api.namespace}" for name in ("whole", "one", "two"))
    reading, writing = rule("get", "configmaps"), rule("create", "configmaps")
    selectors = {"clusterRoleSelectors": [{"matchLabels": label}]}
    await api.post(CLUSTER_ROLES, role(whole, kind="ClusterRole", aggregationRule=selectors))
    for name, given in ((one, reading), (two, writing)):
        made = role(name, given, kind="ClusterRole", metadata={"labels": label})
        await api.post(CLUSTER_ROLES, made)
    await api.until(f"{CLUSTER_ROLES}/{whole}", lambda answer: len(answer.body["rules"] or ()) == 2)
    await api.post(ROLE_BINDINGS, binding("b", f"ClusterRole/{whole}", user("jane")))
    await effective(api, user("jane"), writing, api.namespace)
    await as_user(api, "jane").post(CONFIG_MAPS, config_map("a"))
    await api.delete(f"{CLUSTER_ROLES}/{two}")
    await api.until(f"{CLUSTER_ROLES}/{whole}", lambda answer: len(answer.body["rules"] or ()) == 1)
    await effective(api, user("jane"), writing, api.namespace, allowed=False)
    await as_user(api, "jane").post(CONFIG_MAPS, config_map("b"))
    for name in (whole, one):
        await api.delete(f"{CLUSTER_ROLES}/{name}", recorded=False)


@pytest.mark.parametrize("name", ["view", "edit", "admin", "cluster-admin"])
@contract
async def test_the_roles_every_cluster_has(api: Conversation, name: str) -> None:
    await until_added_up(api)
    bound = binding("b", f"ClusterRole/{name}", user("jane"))
    await api.post(ROLE_BINDINGS, bound, recorded=False)
    await effective(api, user("jane"), rule("get", "configmaps"), api.namespace)
    jane = as_user(api, "jane")
    await jane.get(f"{CONFIG_MAPS}/a")
    await jane.post(CONFIG_MAPS, config_map("a"))
    await jane.delete(CONFIG_MAPS)
    await jane.get(f"{SECRETS}/a")
    await jane.post(SECRETS, secret("a"))
    await jane.get(f"{DEPLOYMENTS}/a/scale")
    await jane.get(f"{DEPLOYMENTS}/a/status")
    await jane.merge(f"{DEPLOYMENTS}/a/status", {"status": {}})
    await jane.get(f"{LEASES}/a")
    await jane.post(f"{PODS}/a/eviction", {"apiVersion": "policy/v1", "kind": "Eviction"})
    await jane.get(f"{ROLES}/r")
    await jane.get("/api/v1/namespaces/{ns}")
    await jane.merge("/api/v1/namespaces/{ns}", {})
    await jane.get("/api/v1/nodes")
    await jane.get(f"{NAMESPACED}/resourcequotas")
    await jane.post(f"{NAMESPACED}/resourcequotas", {})
    await jane.post(f"{ACCOUNTS}/none/token", {})


@contract
async def test_acting_as_somebody_else_by_halves(api: Conversation) -> None:
    await acting(api, ("Impersonate-Group", "devs")).get(CONFIG_MAPS)
    await acting(api, ("Impersonate-Uid", "1234")).get(CONFIG_MAPS)
    await acting(api, ("Impersonate-Extra-scopes", "x")).get(CONFIG_MAPS)


@pytest.mark.parametrize(
    "name",
    [
        "admin",
        "cluster-admin",
        "edit",
        "system:aggregate-to-admin",
        "system:aggregate-to-edit",
        "system:aggregate-to-view",
        "system:basic-user",
        "system:discovery",
        "system:monitoring",
        "system:public-info-viewer",
        "system:service-account-issuer-discovery",
        "view",
    ],
)
@contract
async def test_the_rules_of_roles_every_cluster_has(api: Conversation, name: str) -> None:
    await until_added_up(api)
    await api.get(f"{CLUSTER_ROLES}/{name}")
    await api.get(f"{CLUSTER_ROLE_BINDINGS}/{name}")
