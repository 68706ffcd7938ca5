"""Roles: exactly what is needed, and not a verb more."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from certwright.issuer import Bundle, Issuer, IssuerApp, Request, SecretKey
from certwright.kube import JsonObject


@dataclass(frozen=True)
class Plain:
    url: str = ""


@dataclass(frozen=True)
class Secretive:
    token: SecretKey


def app(spec: type[Any] = Plain, **options: Any) -> IssuerApp[Any]:
    made = IssuerApp(group="pki.example.com", kind="DemoIssuer", spec=spec, **options)

    @made.sign
    async def sign(_request: Request, _issuer: Issuer[Any]) -> Bundle:
        raise NotImplementedError

    return made


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run a command of an app; return the manifests it prints, by kind and name."""

    def run(made: IssuerApp[Any], *words: str) -> dict[tuple[str, str], JsonObject]:
        with pytest.raises(SystemExit) as ended:
            made.main(words)
        assert ended.value.code == 0
        found = list(yaml.safe_load_all(capsys.readouterr().out))
        return {(one["kind"], one["metadata"]["name"]): one for one in found}

    return run


def rules(role: JsonObject) -> dict[tuple[str, str], tuple[set[str], tuple[str, ...]]]:
    return {
        (group, resource): (set(rule["verbs"]), tuple(rule.get("resourceNames", ())))
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


READ = {"get", "list", "watch"}
SIGNERS = ("demoissuers.pki.example.com/*", "democlusterissuers.pki.example.com/*")
BASE = {
    ("pki.example.com", "demoissuers"): (READ, ()),
    ("pki.example.com", "democlusterissuers"): (READ, ()),
    ("pki.example.com", "demoissuers/status"): ({"patch"}, ()),
    ("pki.example.com", "democlusterissuers/status"): ({"patch"}, ()),
    ("events.k8s.io", "events"): ({"create", "patch"}, ()),
    ("cert-manager.io", "certificaterequests"): (READ, ()),
    ("cert-manager.io", "certificaterequests/status"): ({"patch"}, ()),
    ("certificates.k8s.io", "certificatesigningrequests"): (READ, ()),
    ("certificates.k8s.io", "certificatesigningrequests/status"): ({"patch"}, ()),
    ("certificates.k8s.io", "signers"): ({"sign"}, SIGNERS[1:]),
}


@pytest.mark.scenario("ISS-95")
def test_exactly_what_is_needed(printed: Callable[..., Any]) -> None:
    found = printed(app(), "rbac", "--namespace", "pki")
    assert rules(found["ClusterRole", "demo-issuer"]) == BASE
    lease = ({"create", "get", "patch"}, ())
    assert rules(found["Role", "demo-issuer"]) == {("coordination.k8s.io", "leases"): lease}
    assert found["Role", "demo-issuer"]["metadata"]["namespace"] == "pki"
    approve = found["ClusterRole", "cert-manager-controller-approve:demo-issuer"]
    assert rules(approve) == {("cert-manager.io", "signers"): ({"approve"}, SIGNERS)}
    [subject] = found["ClusterRoleBinding", "cert-manager-controller-approve:demo-issuer"][
        "subjects"
    ]
    account = {"kind": "ServiceAccount", "name": "cert-manager", "namespace": "cert-manager"}
    assert subject == account
    assert len(found) == 9


@pytest.mark.scenario("ISS-95")
@pytest.mark.parametrize(
    ("options", "more"),
    [
        ({"spec": Secretive}, {("", "secrets"): (READ, ())}),
        ({"secrets": True}, {("", "secrets"): ({"get"}, ())}),
        (
            {"namespaced_csrs": True},
            {
                ("certificates.k8s.io", "signers"): ({"sign"}, SIGNERS),
                ("authorization.k8s.io", "subjectaccessreviews"): ({"create"}, ()),
            },
        ),
    ],
    ids=["secret keys", "any secrets", "namespaced signing requests"],
)
def test_more_for_those_who_do_more(
    printed: Callable[..., Any],
    options: dict[str, Any],
    more: dict[tuple[str, str], tuple[set[str], tuple[str, ...]]],
) -> None:
    found = printed(app(**options), "rbac")
    assert rules(found["ClusterRole", "demo-issuer"]) == BASE | more


def test_a_role_for_those_who_may_name_namespaced_issuers(printed: Callable[..., Any]) -> None:
    found = printed(app(namespaced_csrs=True), "rbac")
    role = found["ClusterRole", "demo-issuer-reference"]
    assert rules(role) == {("cert-manager.io", "signers"): ({"reference"}, ())}
    assert "labels" not in role["metadata"], "no other role takes it in"
    bound = {one["roleRef"]["name"] for (kind, _), one in found.items() if kind.endswith("Binding")}
    assert "demo-issuer-reference" not in bound, "who may is for the owner of a namespace to say"
    for other in (app(), app(namespaced_csrs=True, namespaced=False)):
        assert ("ClusterRole", "demo-issuer-reference") not in printed(other, "rbac")


def test_less_for_those_who_do_less(printed: Callable[..., Any]) -> None:
    made = app(Secretive, namespaced=False, kubernetes_csrs=False)
    found = printed(made, "rbac", "--namespace", "pki")
    groups = {group for group, _ in rules(found["ClusterRole", "demo-issuer"])}
    assert groups == {"pki.example.com", "events.k8s.io", "cert-manager.io"}
    assert rules(found["Role", "demo-issuer"])["", "secrets"] == (READ, ())


def test_cluster_issuers_watch_their_secrets_where_these_are(printed: Callable[..., Any]) -> None:
    made = app(Secretive, namespaced=False, cluster_resource_namespace="vault")
    found = printed(made, "rbac", "--namespace", "pki")
    assert ("", "secrets") not in rules(found["ClusterRole", "demo-issuer"])
    assert ("", "secrets") not in rules(found["Role", "demo-issuer"])
    role = found["Role", "demo-issuer-secrets"]
    assert role["metadata"]["namespace"] == "vault"
    assert rules(role) == {("", "secrets"): (READ, ())}
    binding = found["RoleBinding", "demo-issuer-secrets"]
    assert binding["metadata"]["namespace"] == "vault"
    [subject] = binding["subjects"]
    assert (subject["namespace"], subject["name"]) == ("pki", "demo-issuer")


def test_reading_any_secret_does_not_replace_watching_some(printed: Callable[..., Any]) -> None:
    made = app(Secretive, namespaced=False, secrets=True)
    found = printed(made, "rbac", "--namespace", "pki")
    assert rules(found["ClusterRole", "demo-issuer"])["", "secrets"] == ({"get"}, ())
    assert rules(found["Role", "demo-issuer"])["", "secrets"] == (READ, ())


@pytest.mark.parametrize("approver", ["cert-manager", "/x", "x/", "a/b/c"])
def test_an_approver_is_named_with_its_namespace(
    approver: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        app().main(["rbac", "--approver", approver])
    assert ended.value.code == 2
    assert "namespace/name" in capsys.readouterr().err


def test_users_of_a_cluster_may_see_and_edit_issuers(printed: Callable[..., Any]) -> None:
    found = printed(app(), "rbac")
    view, edit = (found["ClusterRole", f"demo-issuer-{one}"] for one in ("view", "edit"))
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    assert set(view["metadata"]["labels"]) == {
        f"{prefix}{one}" for one in ("view", "edit", "admin")
    }
    assert set(edit["metadata"]["labels"]) == {f"{prefix}{one}" for one in ("edit", "admin")}
    assert set(edit["rules"][0]["verbs"]) == {
        "create",
        "delete",
        "deletecollection",
        "patch",
        "update",
    }


def test_everything_for_a_deployment(
    printed: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("deploy", "--namespace", "pki", "--image", "example.com/demo:1", "--approver", "cm/cm")
    found = printed(app(), *words)
    [container] = found["Deployment", "demo-issuer"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.com/demo:1"
    assert container["args"][0] == "run"
    with pytest.raises(SystemExit):
        app().main(words)
    printed_text = capsys.readouterr().out
    assert "&id" not in printed_text, "people read it, and not every tool knows anchors"
    assert "*id" not in printed_text
    crds = {name for kind, name in found if kind == "CustomResourceDefinition"}
    assert crds == {"demoissuers.pki.example.com", "democlusterissuers.pki.example.com"}


@pytest.mark.parametrize("command", ["run", "crds", "rbac", "deploy", "conformance", "doctor", ""])
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as ended:
        app().main([*([command] if command else []), "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "usage:" in text
    if not command:
        assert "DemoIssuer and DemoClusterIssuer" in text
        assert "kubectl apply" in text


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("rbac --namespace My_Team", "argument --namespace: 'My_Team' is not a namespace: "),
        ("rbac --name My_Issuer", "argument --name: 'My_Issuer' is not a name: "),
        ("deploy --image x --replicas -1", "argument --replicas: '-1' is not a number of replicas"),
        ("rbac --approver me", "argument --approver: 'me' is not namespace/name"),
    ],
)
def test_manifests_that_the_api_would_refuse_are_not_printed(
    capsys: pytest.CaptureFixture[str], words: str, told: str
) -> None:
    with pytest.raises(SystemExit, match="2"):
        app().main(words.split())
    printed_text = capsys.readouterr()
    assert told in printed_text.err
    assert not printed_text.out
