from typing import Any

from certwright.kube import JsonObject, Key
from certwright.operators.discoveryservice.certificates.rotation.observer import Users
from certwright.operators.discoveryservice.connected.observer import replicas, users_of
from certwright.operators.discoveryservice.connected.report import (
    CertificateReport,
    LateEnvoys,
    report_lease,
)
from certwright.operators.discoveryservice.replica import ReplicaIdentity

CLIENT = Key("a", "envoy-sidecar-client-cert")
SERVER = Key("infra", "marin3r-server-cert-x")


def pod(name: str = "p", *, phase: str = "Running", ready: str = "True") -> JsonObject:
    status = {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}
    return {"metadata": {"name": name, "namespace": "infra"}, "status": status}


def lease(name: str = "p", **report: Any) -> JsonObject:
    said = CertificateReport(**{"settled": True, **report})
    return report_lease(ReplicaIdentity("x", Key("infra", name)), said)


def users(pods: list[JsonObject], leases: list[JsonObject], secret: Key = CLIENT) -> Users:
    return users_of(replicas(pods, leases), secret)


def test_what_all_envoys_of_a_pod_have_shown_is_told_under_one_name() -> None:
    found = users(
        [pod("p"), pod("q")], [lease("p", shown={"a": "1"}), lease("q", shown={"a": "2"})]
    )
    assert found.complete
    assert found.serials == {
        "Envoys of namespace a at Pod infra/p": "1",
        "Envoys of namespace a at Pod infra/q": "2",
    }


def test_late_envoys_are_named_and_the_rest_of_them_counted() -> None:
    found = users([pod()], [lease(late={"a": LateEnvoys(number=3, names=["Envoy a/x at h"])})])
    assert found.complete
    assert found.serials == {
        "Envoy a/x at h": "",
        "2 other Envoys of namespace a at Pod infra/p": "",
    }


def test_not_all_is_known_unless_every_pod_that_runs_tells() -> None:
    told = lease(shown={"a": "1"})
    assert users([pod()], [told]).complete
    assert not users([], []).complete
    assert not users([], [told]).complete
    assert not users([pod("p"), pod("q")], [told]).complete
    assert not users([pod(ready="False")], [told]).complete
    assert not users([pod()], [lease(shown={"a": "1"}, settled=False)]).complete
    assert not users([pod()], [lease(shown={"b": "1"})]).complete
    broken = {**told, "metadata": {**told["metadata"], "annotations": {}}}
    assert not users([pod()], [broken]).complete


def test_pods_that_do_not_run_have_no_envoys() -> None:
    others = [pod("q", phase="Pending", ready="False"), pod("r", phase="Failed", ready="False")]
    assert users([pod(), *others], [lease(shown={"a": "1"})]).complete


def test_pods_tell_what_they_present_and_trust() -> None:
    found = users([pod()], [lease(server="5", trusts="d")], SERVER)
    assert found == Users({"Pod infra/p": "5"}, {"Pod infra/p": "d"}, complete=True)
    assert not users([pod("p"), pod("q")], [lease(server="5")], SERVER).complete
    assert not users([], [], SERVER).complete
