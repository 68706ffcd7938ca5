"""What a test leaves behind on a control plane that others use after it."""

from pathlib import Path

import pytest

from certwright.client import connect
from certwright.kube import Key, NotFound, ObjectMeta
from certwright.kube.kinds import ClusterRole, CustomResourceDefinition, Namespace
from certwright.testkit import RealCluster
from certwright.testkit.builders import config_map
from greeting import Greeting

pytestmark = pytest.mark.real


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
        namespace = cluster.namespace
    async with connect(kubeconfig=control_plane_kubeconfig) as client:
        for kind, name in (
            (ClusterRole, "certwright-test-leftover"),
            (CustomResourceDefinition, "greetings.demo.certwright.dev"),
        ):
            with pytest.raises(NotFound):
                await client.get(kind, Key("", name))
        try:
            left = await client.get(Namespace, Key("", namespace))
        except NotFound:
            return
        assert left["status"]["phase"] == "Terminating"
