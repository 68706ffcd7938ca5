"""What objects use, read from their structure."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.kube import JsonObject
from certwright.managed import Reference, uses_of

SPEC = {"containers": [{"name": "main", "envFrom": [{"secretRef": {"name": "s"}}]}]}
TEMPLATE = {"template": {"spec": SPEC}}


@pytest.mark.parametrize(
    ("version", "kind", "fields"),
    [
        ("v1", "Pod", {"spec": SPEC}),
        ("v1", "PodTemplate", TEMPLATE),
        ("v1", "ReplicationController", {"spec": TEMPLATE}),
        ("apps/v1", "Deployment", {"spec": TEMPLATE}),
        ("apps/v1", "StatefulSet", {"spec": TEMPLATE}),
        ("apps/v1", "DaemonSet", {"spec": TEMPLATE}),
        ("apps/v1", "ReplicaSet", {"spec": TEMPLATE}),
        ("apps/v1", "ControllerRevision", {"data": {"spec": TEMPLATE}}),
        ("batch/v1", "Job", {"spec": TEMPLATE}),
        ("batch/v1", "CronJob", {"spec": {"jobTemplate": {"spec": TEMPLATE}}}),
        ("v1", "ServiceAccount", {"secrets": [{"name": "s"}]}),
        ("v1", "ServiceAccount", {"imagePullSecrets": [{"name": "s"}]}),
        ("networking.k8s.io/v1", "Ingress", {"spec": {"tls": [{"secretName": "s"}]}}),
        (
            "resources.gardener.cloud/v1alpha1",
            "ManagedResource",
            {"spec": {"secretRefs": [{"name": "s"}]}},
        ),
    ],
)
def test_kinds_that_use_secrets(version: str, kind: str, fields: JsonObject) -> None:
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "it"}, **fields}
    assert uses_of(obj) == {Reference("Secret", "s")}


@pytest.mark.parametrize(
    "volume",
    [
        {"secret": {"secretName": "s"}},
        {"azureFile": {"secretName": "s", "shareName": "x"}},
        {"csi": {"driver": "x", "nodePublishSecretRef": {"name": "s"}}},
        {"rbd": {"secretRef": {"name": "s"}, "image": "x"}},
        {"cephfs": {"secretRef": {"name": "s"}}},
        {"projected": {"sources": [{"secret": {"name": "s"}}, {"downwardAPI": {}}]}},
    ],
)
def test_volumes_that_use_secrets(volume: JsonObject) -> None:
    spec = {"volumes": [{"name": "v", **volume}]}
    assert uses_of({"apiVersion": "v1", "kind": "Pod", "spec": spec}) == {Reference("Secret", "s")}


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        (
            {"tlsConfig": {"ca": {"configMap": {"name": "c", "key": "k"}}}},
            Reference("ConfigMap", "c"),
        ),
        ({"tlsConfig": {"cert": {"secret": {"name": "s", "key": "k"}}}}, Reference("Secret", "s")),
        ({"additionalScrapeConfigs": {"name": "s", "key": "k"}}, Reference("Secret", "s")),
        ({"configMaps": ["c"]}, Reference("ConfigMap", "c")),
        ({"listeners": [{"tls": {"certificateRefs": [{"name": "s"}]}}]}, Reference("Secret", "s")),
        ({"ca": {"secretName": "s"}}, Reference("Secret", "s")),
        ({"auth": {"tokenSecretRef": {"name": "s", "key": "k"}}}, Reference("Secret", "s")),
        ({"rulesConfigMapName": "c"}, Reference("ConfigMap", "c")),
    ],
)
def test_custom_resources_are_searched(spec: JsonObject, found: Reference) -> None:
    obj = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": spec}
    assert uses_of(obj) == {found}


def test_a_custom_resource_of_great_depth_is_searched() -> None:
    spec: JsonObject = {"secretName": "s"}
    for _ in range(20_000):
        spec = {"a": [spec]}
    assert uses_of({"apiVersion": "example.com/v1", "kind": "Thing", "spec": spec}) == {
        Reference("Secret", "s")
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["containers", "env", "envFrom", "valueFrom", "volumes", "secretRef", "name", "tls"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(kind=st.sampled_from(["Pod", "ServiceAccount", "Other"]), spec=JSON)
def test_objects_of_any_shape_are_read(
    kind: str, spec: JsonObject | list[JsonObject | list[Any]] | None
) -> None:
    obj = {"apiVersion": "v1", "kind": kind, "spec": spec, "secrets": spec}
    assert all(isinstance(used.name, str) and used.name for used in uses_of(obj))
