"""What of a live object stays: decided from manifest, live object and what we own of it."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certwright.apply import Rules
from certwright.apply.engine.keptfields import value_at
from certwright.apply.engine.preserve import _Draft, preserve
from certwright.kube import JsonObject
from certwright.kube.ownership import FieldSet

ALL = Rules(preserve_replicas=True, preserve_resources=True)


def workload(kind: str = "Deployment", **spec: Any) -> JsonObject:
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def owns(*paths: str) -> FieldSet:
    """Return the ownership of fields given as dotted paths."""
    fields: dict[Any, Any] = {}
    for path in paths:
        inner = fields
        for name in path.split("."):
            inner = inner.setdefault(f"f:{name}", {})
    return FieldSet.parse(fields)


REPLICAS = [
    # manifest, live, ours, preserve, sent, guarded
    (2, 5, True, False, 2, False),
    (2, 5, False, False, 2, False),
    (2, 5, True, True, 5, True),
    (2, 5, False, True, None, False),
    (None, 5, True, False, 5, True),
    (None, 5, False, False, None, False),
    (2, None, False, True, 2, False),
    (5, 5, True, True, 5, False),
]


@pytest.mark.parametrize(("wanted", "have", "ours", "keep", "sent", "guarded"), REPLICAS)
@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_replicas(
    kind: str,
    wanted: int | None,
    have: int | None,
    *,
    ours: bool,
    keep: bool,
    sent: int | None,
    guarded: bool,
) -> None:
    desired = workload(kind, **({} if wanted is None else {"replicas": wanted}))
    live = workload(kind, **({} if have is None else {"replicas": have}))
    own = owns("spec.replicas") if ours else FieldSet()
    found = preserve(desired, live, own, Rules(preserve_replicas=keep))
    assert value_at(found.obj, ("spec", "replicas")) == sent
    assert found.guarded is guarded


def test_other_kinds_say_nothing_about_replicas_and_lose_theirs() -> None:
    desired = {**workload(), "apiVersion": "example.com/v1", "kind": "Set"}
    live = {**desired, "spec": {"replicas": 3}}
    found = preserve(desired, live, owns("spec.replicas"), Rules())
    assert value_at(found.obj, ("spec", "replicas")) is None


CRON = ("spec", "jobTemplate", "spec", "template")
PLAIN = ("spec", "template")
RESTART = "kubectl.kubernetes.io/restartedAt"


@pytest.mark.parametrize(
    ("api_version", "kind", "path"),
    [
        ("apps/v1", "Deployment", PLAIN),
        ("apps/v1", "StatefulSet", PLAIN),
        ("apps/v1", "DaemonSet", PLAIN),
        ("extensions/v1beta1", "Deployment", PLAIN),
        ("batch/v1", "Job", PLAIN),
        ("batch/v1", "CronJob", CRON),
        ("batch/v1beta1", "CronJob", CRON),
    ],
)
def test_pod_templates_keep_restarts_and_sizes(
    api_version: str, kind: str, path: tuple[str, ...]
) -> None:
    def obj(cpu: str, restarted: str, **more: str) -> JsonObject:
        container = {"name": "c", "resources": {"requests": {"cpu": cpu, **more}}}
        template = {
            "metadata": {"annotations": {RESTART: restarted}},
            "spec": {"containers": [container], "initContainers": [container]},
        }
        whole: JsonObject = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}}
        inner = whole
        for name in path[:-1]:
            inner = inner.setdefault(name, {})
        inner[path[-1]] = template
        return whole

    desired, live = obj("50m", "then", gpu="1"), obj("100m", "now")
    found = preserve(desired, live, FieldSet(), Rules(preserve_resources=True)).obj
    pod = value_at(found, (*path, "spec"))
    assert pod["containers"][0]["resources"]["requests"] == {"gpu": "1"}
    assert pod["initContainers"][0]["resources"]["requests"] == {"cpu": "50m", "gpu": "1"}
    assert value_at(found, (*path, "metadata")) is None, "nothing is left of it"
    found = preserve(desired, live, FieldSet(), Rules()).obj
    assert (
        value_at(found, (*path, "spec", "containers", 0, "resources", "requests", "cpu")) == "50m"
    )


def service(**spec: Any) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": spec}


def port(number: int, name: str = "", node: int = 0, protocol: str = "TCP") -> JsonObject:
    parts = {"port": number, "name": name, "nodePort": node, "protocol": protocol}
    return {key: value for key, value in parts.items() if value}


NODE_PORTS = {
    "the same port needs nothing": ([port(80)], [port(80, node=30001)], [None]),
    "another number, the same name": ([port(81, "h")], [port(80, "h", 30001)], [30001]),
    "an explicit one wins": ([port(80, node=30009)], [port(80, node=30001)], [30009]),
    "two protocols of one number": (
        [port(53, "u", protocol="UDP"), port(53, "t")],
        [port(53, "u", 30001, "UDP"), port(53, "t", 30002)],
        [None, None],
    ),
    "a name that moved to a new number does not steal": (
        [port(81, "h"), port(80, "other")],
        [port(80, "h", 30001)],
        [None, None],
    ),
    "a new port": ([port(80), port(90, "n")], [port(80, node=30001)], [None, None]),
}


@pytest.mark.parametrize("case", NODE_PORTS.values(), ids=NODE_PORTS)
@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_node_ports(
    case: tuple[list[JsonObject], list[JsonObject], list[int | None]], kind: str
) -> None:
    wanted, have, sent = case
    found = preserve(service(type=kind, ports=wanted), service(ports=have), FieldSet(), Rules())
    assert [p.get("nodePort") for p in found.obj["spec"]["ports"]] == sent


def test_node_ports_mean_nothing_inside_the_cluster() -> None:
    desired = service(ports=[port(81, "h")])
    live = service(type="NodePort", ports=[port(80, "h", 30001)])
    assert preserve(desired, live, FieldSet(), Rules()).obj == desired


ADDRESSES = {
    # wanted clusterIP and type, live clusterIP and type, ours, sent
    "left to the cluster": (None, "", "10.0.0.1", "", False, None),
    "ours before": (None, "", "10.0.0.1", "", True, "10.0.0.1"),
    "another one is not followed": ("10.0.0.9", "", "10.0.0.1", "", False, None),
    "headless is": ("None", "", "10.0.0.1", "", True, "None"),
    "from a name": ("10.0.0.9", "ClusterIP", None, "ExternalName", False, "10.0.0.9"),
    "to a name": (None, "ExternalName", "10.0.0.1", "ClusterIP", True, None),
}


@pytest.mark.parametrize("case", ADDRESSES.values(), ids=ADDRESSES)
def test_cluster_addresses(case: tuple[str | None, str, str | None, str, bool, str | None]) -> None:
    wanted, new, have, old, ours, sent = case
    desired = service(**{k: v for k, v in {"clusterIP": wanted, "type": new}.items() if v})
    live = service(**{k: v for k, v in {"clusterIP": have, "type": old}.items() if v})
    found = preserve(desired, live, owns("spec.clusterIP") if ours else FieldSet(), Rules())
    assert value_at(found.obj, ("spec", "clusterIP")) == sent


def test_job_labels_are_united() -> None:
    def obj(**labels: str) -> JsonObject:
        spec = {"template": {"metadata": {"labels": labels}}}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": spec}

    own = owns("spec.template.metadata.labels.a", "spec.template.metadata.labels.b")
    found = preserve(obj(b="new", c="3"), obj(a="1", b="2", job="x"), own, Rules()).obj
    assert value_at(found, ("spec", "template", "metadata", "labels")) == {
        "a": "1",
        "b": "new",
        "c": "3",
    }


def test_what_cannot_change_is_named() -> None:
    def obj(size: str) -> JsonObject:
        return workload("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": size}}])

    found = preserve(obj("a"), obj("b"), owns("spec.volumeClaimTemplates"), Rules())
    assert found.ignored == ("spec.volumeClaimTemplates",)
    assert found.obj == obj("b")
    assert preserve(obj("a"), obj("a"), FieldSet(), Rules()).ignored == ()


def test_without_preservation_only_status_is_left_out() -> None:
    desired = {**workload(replicas=1), "status": {"x": 1}}
    desired["metadata"] = {"name": "x", "finalizers": ["f"]}
    plain = Rules(preserve_allocated=False)
    found = preserve(desired, workload(replicas=5), owns("spec.replicas"), plain)
    assert found.obj == {name: part for name, part in desired.items() if name != "status"}


JSON = st.recursive(
    st.none() | st.integers(0, 3) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)
NONSENSE = st.fixed_dictionaries(
    {
        "apiVersion": st.sampled_from(["v1", "apps/v1", "batch/v1"]),
        "kind": st.sampled_from(
            ["Deployment", "StatefulSet", "Job", "CronJob", "Service", "ServiceAccount"]
        ),
        "metadata": st.just({"name": "x"}),
    },
    optional={
        "spec": JSON
        | st.fixed_dictionaries(
            {},
            optional={
                "replicas": JSON,
                "template": JSON,
                "jobTemplate": JSON,
                "ports": JSON,
                "selector": JSON,
                "clusterIP": JSON,
                "volumeClaimTemplates": JSON,
            },
        ),
        "status": JSON,
        "secrets": JSON,
    },
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(NONSENSE, NONSENSE)
def test_nonsense_is_left_to_the_server_and_the_manifest_untouched(
    desired: JsonObject, live: JsonObject
) -> None:
    before = copy.deepcopy(desired)
    preserve(desired, live, owns("spec.replicas", "spec.ports", "secrets"), ALL)
    assert desired == before


@given(
    st.dictionaries(st.sampled_from("ab"), st.dictionaries(st.sampled_from("ab"), st.integers()))
)
def test_a_draft_sets_and_drops_only_what_is_meant(obj: JsonObject) -> None:
    before = copy.deepcopy(obj)
    draft = _Draft(obj, {}, None)
    draft.set(("x", "y"), 1)
    assert draft.obj == {**obj, "x": {"y": 1}}
    draft.drop(("x", "y"))
    assert draft.obj == obj == before
