"""What a pod template consumes."""

from typing import Any

import pytest

from certwright.kube import JsonObject
from certwright.operators.rollout.references import uses_of
from certwright.operators.rollout.workload import SourceKind, SourceUse, UsePath


def pod(
    *volumes: JsonObject, mounts: list[JsonObject] | None = None, **container: Any
) -> JsonObject:
    named = [{"name": f"v{number}", **volume} for number, volume in enumerate(volumes)]
    return {
        "containers": [{"name": "main", "volumeMounts": mounts or [], **container}],
        "volumes": named,
    }


def only(spec: Any) -> SourceUse:
    [use] = uses_of("ns", spec)
    return use


def variable(kind: str, name: str, key: str) -> JsonObject:
    return {"name": "X", "valueFrom": {f"{kind}KeyRef": {"name": name, "key": key}}}


WHOLE = {
    "a volume": pod({"secret": {"secretName": "s"}}),
    "a projection": pod({"projected": {"sources": [{"secret": {"name": "s"}}]}}),
    "all variables": pod(envFrom=[{"secretRef": {"name": "s"}}]),
    "an init container": {
        "initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "s"}}]}]
    },
    "a volume and a key of it": pod(
        {"secret": {"secretName": "s"}}, env=[variable("secret", "s", "a")]
    ),
    "one mount by path, one whole": pod(
        {"secret": {"secretName": "s"}},
        mounts=[{"name": "v0", "subPath": "a"}, {"name": "v0"}],
    ),
    "a path that depends on the pod": pod(
        {"secret": {"secretName": "s"}}, mounts=[{"name": "v0", "subPathExpr": "$(A)"}]
    ),
}


@pytest.mark.parametrize("way", sorted(WHOLE))
def test_all_keys(way: str) -> None:
    use = only(WHOLE[way])
    assert use.ref == (SourceKind.SECRET, "ns", "s")
    assert use.keys is None


SOME = {
    "items": pod({"secret": {"secretName": "s", "items": [{"key": "a", "path": "x"}]}}),
    "items of a projection": pod(
        {
            "projected": {
                "sources": [{"secret": {"name": "s", "items": [{"key": "a", "path": "x"}]}}]
            }
        }
    ),
    "a variable": pod(env=[variable("secret", "s", "a")]),
    "a path": pod({"secret": {"secretName": "s"}}, mounts=[{"name": "v0", "subPath": "a"}]),
}


@pytest.mark.parametrize("way", sorted(SOME))
def test_some_keys(way: str) -> None:
    assert only(SOME[way]).keys == frozenset({"a"})


def test_keys_of_several_places_are_joined() -> None:
    use = only(pod(env=[variable("secret", "s", "a"), variable("secret", "s", "b")]))
    assert use.keys == frozenset({"a", "b"})
    assert use.paths == {UsePath.ENVIRONMENT}
    assert use.containers == ("main",)


def test_a_volume_that_is_mounted_by_paths_only_is_never_updated() -> None:
    assert only(SOME["a path"]).paths == {UsePath.SUB_PATH}


def test_config_maps_and_secrets_of_one_name_are_two_sources() -> None:
    uses = uses_of("ns", pod({"secret": {"secretName": "s"}}, {"configMap": {"name": "s"}}))
    assert [use.ref.kind for use in uses] == [SourceKind.SECRET, SourceKind.CONFIG_MAP]


def test_what_is_optional_in_all_places_is_optional() -> None:
    optional = {"secretRef": {"name": "s", "optional": True}}
    assert only(pod(envFrom=[optional])).optional
    assert not only(pod({"secret": {"secretName": "s"}}, envFrom=[optional])).optional


def test_secrets_to_pull_images_do_not_count() -> None:
    assert uses_of("ns", {"imagePullSecrets": [{"name": "s"}], "containers": []}) == ()


@pytest.mark.parametrize(
    "spec",
    [None, [], "text", {"volumes": 7}, {"volumes": [None, {"secret": "x"}, {"secret": {}}]},
     {"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": 1}}}], "envFrom": "x"}]},
     {"volumes": [{"projected": {"sources": [{"secret": []}]}}]}],
)  # fmt: skip
def test_templates_of_wrong_shapes_consume_nothing(spec: Any) -> None:
    assert uses_of("ns", spec) == ()


def test_what_the_secrets_store_driver_mounts_counts_by_its_class() -> None:
    attributes = {"secretProviderClass": "vault"}
    volume = {"csi": {"driver": "secrets-store.csi.k8s.io", "volumeAttributes": attributes}}
    use = only(pod(volume, mounts=[{"name": "v0", "mountPath": "/v", "subPath": "password"}]))
    assert (use.ref.kind, use.ref.name) == (SourceKind.PROVIDER_CLASS, "vault")
    assert use.keys is None
    assert use.containers == ("main",)
    assert uses_of("ns", pod({"csi": {**volume["csi"], "driver": "other"}})) == ()
