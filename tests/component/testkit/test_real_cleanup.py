"""What a test leaves behind on a control plane that others use after it."""

from pathlib import Path

import pytest

from certwright.client import connect
from certwright.kube import JsonObject, Key, NotFound, ObjectMeta, Resource
from certwright.kube.kinds import ClusterRole, CustomResourceDefinition, Namespace
from certwright.testkit import RealCluster
from certwright.testkit.builders import config_map
from greeting import Greeting

pytestmark = pytest.mark.real


def toys(color: str = "string") -> JsonObject:
    spec = {"type": "object", "properties": {"color": {"type": color}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.cleanup.certwright.dev"},
        "spec": {
            "group": "cleanup.certwright.dev",
            "scope": "Namespaced",
            "names": {"kind": "Toy", "plural": "toys"},
            "versions": [version],
        },
    }


async def test_everything_goes_even_what_finalizers_hold(control_plane_kubeconfig: Path) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "certwright-test-leftover"},
    }
    async with RealCluster(control_plane_kubeconfig) as cluster:
        await cluster.create(config_map("held", finalizers=["test.certwright.dev/hold"]))
        metadata = ObjectMeta(name="hi", finalizers=["test.certwright.dev/hold"])
        await cluster.create(Greeting(metadata=metadata))
        await cluster.create(role)
        await cluster.install(toys())
        namespace = cluster.namespace
    async with connect(kubeconfig=control_plane_kubeconfig) as client:
        for kind, name in (
            (ClusterRole, "certwright-test-leftover"),
            (CustomResourceDefinition, "toys.cleanup.certwright.dev"),
        ):
            with pytest.raises(NotFound):
                await client.get(kind, Key("", name))
        assert (await client.list(Greeting, namespace)).items == []
        try:
            left = await client.get(Namespace, Key("", namespace))
        except NotFound:
            return
        assert left["status"]["phase"] == "Terminating"


async def test_what_is_provided_stays_and_is_made_anew_if_it_differs(
    control_plane_kubeconfig: Path,
) -> None:
    name = toys()["metadata"]["name"]
    uids = []
    for color in ("string", "string", "integer"):
        async with RealCluster(control_plane_kubeconfig) as cluster:
            await cluster.provide(toys(color))
            uids.append((await cluster.get(CustomResourceDefinition, name))["metadata"]["uid"])
            toy = {"apiVersion": "cleanup.certwright.dev/v1", "kind": "Toy"}
            value: object = 7 if color == "integer" else "seven"
            await cluster.create({**toy, "metadata": {"name": "t"}, "spec": {"color": value}})
    assert uids[0] == uids[1] != uids[2]
    async with connect(kubeconfig=control_plane_kubeconfig) as client:
        assert (
            await client.list(Resource("cleanup.certwright.dev", "v1", "Toy", "toys"))
        ).items == []
        await client.delete(CustomResourceDefinition, Key("", name))
