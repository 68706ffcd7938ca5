"""Reference annotations: their keys, what they say, and where they are written."""

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.kube import JsonObject
from certwright.managed import Reference, annotate
from certwright.managed.references import (
    annotations_for,
    kind_of_key,
    reference_key,
    references_in,
)

PREFIX = "reference.resources.gardener.cloud/"

POD = {
    "containers": [
        {
            "name": "main",
            "envFrom": [{"secretRef": {"name": "s1"}}, {"configMapRef": {"name": "c1"}}],
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": "s2", "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c2", "key": "k"}}},
                {"name": "C", "value": "text"},
            ],
        }
    ],
    "volumes": [
        {"name": "v1", "secret": {"secretName": "s3"}},
        {"name": "v2", "configMap": {"name": "c3"}},
        {
            "name": "v3",
            "projected": {"sources": [{"secret": {"name": "s4"}}, {"configMap": {"name": "c4"}}]},
        },
        {"name": "v4", "emptyDir": {}},
    ],
    "imagePullSecrets": [{"name": "s5"}],
}
OF_POD = {
    *(Reference("Secret", f"s{number}") for number in range(1, 6)),
    *(Reference("ConfigMap", f"c{number}") for number in range(1, 5)),
}
METADATA = {
    "name": "it",
    "annotations": {"mine": "stays", f"{PREFIX}secret-12345678": "stale", f"{PREFIX}odd": "stale"},
}


def test_the_key_ends_with_a_hash_of_the_name() -> None:
    assert reference_key("kind", "name") == f"{PREFIX}kind-82a3537f"
    assert reference_key("ConfigMap", "test-5678") == f"{PREFIX}configmap-4ed34879"


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (f"{PREFIX}kind-82a3537f", "kind"),
        (f"{PREFIX}secret-foo", "secret"),
        ("other.resources.gardener.cloud/kind-82a3537f", ""),
        (f"{PREFIX}some/kind-82a3537f", ""),
        (f"{PREFIX}a-b-c", ""),
        (f"{PREFIX}secret", ""),
        ("", ""),
    ],
)
def test_the_kind_is_read_back_from_a_key(key: str, kind: str) -> None:
    assert kind_of_key(key) == kind


@pytest.mark.parametrize(
    ("annotations", "names"),
    [
        ({f"{PREFIX}secret-00000000": "s"}, {"s"}),  # the hash is wrong, which is fine
        ({f"{PREFIX}configmap-foo": "c"}, {"c"}),
        ({f"{PREFIX}secret-a-b": "s"}, set()),
        ({f"{PREFIX}secret-82a3537f": ""}, set()),
        ({f"{PREFIX}secret-82a3537f": None}, set()),
        ({f"{PREFIX}service-82a3537f": "s"}, set()),
        ({"reference.resources.gardener.cloud": "s"}, set()),
        (None, set()),
    ],
)
def test_what_annotations_refer_to(annotations: JsonObject | None, names: set[str]) -> None:
    assert {reference.name for reference in references_in(annotations)} == names


@settings(deadline=None)
@given(st.sets(st.builds(Reference, st.sampled_from(["ConfigMap", "Secret"]), st.text(min_size=1))))
def test_what_is_written_is_read_back(references: set[Reference]) -> None:
    assert references_in(annotations_for(references)) == references


WORKLOADS = [
    *(("Deployment", version) for version in ("apps/v1", "apps/v1beta2", "apps/v1beta1")),
    *(("StatefulSet", version) for version in ("apps/v1", "apps/v1beta2", "apps/v1beta1")),
    *(("DaemonSet", version) for version in ("apps/v1", "apps/v1beta2")),
    ("Job", "batch/v1"),
]


def expect_annotated(bearer: JsonObject, references: set[Reference]) -> None:
    annotations = bearer["metadata"]["annotations"]
    assert annotations == {
        **{key: "stays" for key in annotations if key == "mine"},
        **annotations_for(references),
    }


def test_a_pod_is_annotated_itself() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": METADATA, "spec": POD}
    before = deepcopy(pod)
    annotated = annotate(pod)
    expect_annotated(annotated, OF_POD)
    assert annotated["metadata"]["annotations"]["mine"] == "stays"
    assert pod == before


@pytest.mark.parametrize(("kind", "version"), WORKLOADS)
def test_a_workload_is_annotated_with_its_template(kind: str, version: str) -> None:
    template = {"metadata": deepcopy(METADATA), "spec": POD}
    workload = {
        "apiVersion": version,
        "kind": kind,
        "metadata": deepcopy(METADATA),
        "spec": {"template": template},
    }
    annotated = annotate(workload)
    expect_annotated(annotated, OF_POD)
    expect_annotated(annotated["spec"]["template"], OF_POD)
    assert annotated["spec"]["template"]["metadata"]["annotations"]["mine"] == "stays"
    for bearer in (annotated, annotated["spec"]["template"], workload, template):
        del bearer["metadata"]
    assert annotated == workload, "nothing else has changed"


@pytest.mark.parametrize("version", ["batch/v1", "batch/v1beta1"])
def test_a_cron_job_is_annotated_with_both_templates(version: str) -> None:
    job = {"spec": {"template": {"spec": POD}}}
    cron_job = {
        "apiVersion": version,
        "kind": "CronJob",
        "metadata": METADATA,
        "spec": {"jobTemplate": job},
    }
    annotated = annotate(cron_job)
    expect_annotated(annotated, OF_POD)
    expect_annotated(annotated["spec"]["jobTemplate"], OF_POD)
    expect_annotated(annotated["spec"]["jobTemplate"]["spec"]["template"], OF_POD)
    assert annotated["spec"]["jobTemplate"].keys() == {"metadata", "spec"}
    assert annotated["spec"]["jobTemplate"]["spec"]["template"]["spec"] == POD


def test_a_managed_resource_refers_to_its_secrets() -> None:
    managed = {
        "apiVersion": "resources.gardener.cloud/v1alpha1",
        "kind": "ManagedResource",
        "metadata": METADATA,
        "spec": {"secretRefs": [{"name": "a"}, {"name": "b"}]},
    }
    expect_annotated(annotate(managed), {Reference("Secret", "a"), Reference("Secret", "b")})


def test_a_prometheus_refers_to_what_its_spec_names() -> None:
    login = {"username": {"name": "u", "key": "k"}, "password": {"name": "p", "key": "k"}}
    prometheus = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "Prometheus",
        "metadata": METADATA,
        "spec": {**POD, "remoteWrite": [{"url": "x", "basicAuth": login}], "secrets": ["more"]},
    }
    of_login = {Reference("Secret", name) for name in ("u", "p", "more")}
    expect_annotated(annotate(prometheus), OF_POD | of_login)


@pytest.mark.parametrize("containers", ["initContainers", "ephemeralContainers"])
def test_containers_of_every_sort_count(containers: str) -> None:
    spec = {"containers": [], containers: POD["containers"]}
    annotated = annotate(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "it"}, "spec": spec}
    )
    names = {reference.name for reference in references_in(annotated["metadata"]["annotations"])}
    assert names == {"s1", "s2", "c1", "c2"}


def test_extra_references_protect() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "it"}, "spec": {}}
    extra = Reference("ConfigMap", "read-at-run-time")
    assert references_in(annotate(pod, extra)["metadata"]["annotations"]) == {extra}


def test_an_object_that_uses_nothing_gets_no_annotations() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "it"}, "spec": {}}
    assert annotate(pod) == pod


@pytest.mark.parametrize(
    ("version", "kind"), [("v1", "Service"), ("example.com/v1", "Deployment"), ("", "")]
)
def test_other_kinds_are_refused(version: str, kind: str) -> None:
    with pytest.raises(ValueError, match="annotate what uses it"):
        annotate({"apiVersion": version, "kind": kind, "metadata": {"name": "it"}})
