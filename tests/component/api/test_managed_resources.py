"""The kind as the API server serves it: what it accepts, keeps, and leaves alone."""

import pytest

from certwright.api.managedresources import ManagedResource
from certwright.kube import Invalid
from certwright.testkit import Cluster

API = {"apiVersion": "resources.gardener.cloud/v1alpha1", "kind": "ManagedResource"}


async def test_the_server_adds_nothing_to_a_spec(cluster: Cluster) -> None:
    await cluster.serve(ManagedResource)
    spec = {"secretRefs": [{"name": "a"}]}
    stored = await cluster.create({**API, "metadata": {"name": "mr"}, "spec": spec})
    assert stored["spec"] == spec


async def test_secret_refs_are_required_and_may_be_empty(cluster: Cluster) -> None:
    await cluster.serve(ManagedResource)
    await cluster.create({**API, "metadata": {"name": "empty"}, "spec": {"secretRefs": []}})
    with pytest.raises(Invalid, match="secretRefs"):
        await cluster.create({**API, "metadata": {"name": "mr"}, "spec": {"class": "x"}})


async def test_status_fields_of_other_versions_survive(cluster: Cluster) -> None:
    await cluster.serve(ManagedResource)
    await cluster.create({**API, "metadata": {"name": "mr"}, "spec": {"secretRefs": []}})
    status = {
        "future": {"a": [1]},
        "conditions": [{"type": "ResourcesApplied", "status": "Progressing"}],
    }
    await cluster.patch(ManagedResource, "mr", {"status": status}, subresource="status")
    stored = await cluster.get(ManagedResource.resource, "mr")
    assert stored["status"]["future"] == {"a": [1]}
    assert (await cluster.get(ManagedResource, "mr")).status.conditions[0].status == "Progressing"
