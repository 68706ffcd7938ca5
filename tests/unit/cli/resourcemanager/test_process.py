"""From a configuration to what runs, and where it listens."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from certwright.cli.errors import UsageError
from certwright.cli.resourcemanager.flags import ResourceManagerOptions
from certwright.cli.resourcemanager.process import addresses_of, election_of, load
from certwright.operators.managedresource.configuration import Configuration, LeaderElectionSettings
from certwright.operators.managedresource.configuration import load as load_document
from certwright.runtime import ListenAddress


def configured(**document: Any) -> Configuration:
    return load_document(document).configuration


def test_probes_and_metrics_have_their_own_addresses() -> None:
    assert addresses_of(Configuration()) == [
        ListenAddress.parse(":8081"),
        ListenAddress.parse(":8080"),
    ]


def test_one_address_is_served_once_and_port_zero_not_at_all() -> None:
    part = {"bindAddress": "127.0.0.1", "port": 9000}
    same = configured(server={"healthProbes": part, "metrics": part})
    assert addresses_of(same) == [ListenAddress(9000, "127.0.0.1")]
    off = configured(server={"healthProbes": {"port": 0}, "metrics": {"port": 0}})
    assert addresses_of(off) == []


def test_the_lease_is_in_our_namespace_unless_said_otherwise() -> None:
    election = election_of(LeaderElectionSettings(), "mine")
    assert election is not None
    assert (election.namespace, election.name) == ("mine", "gardener-resource-manager")
    assert election.lease_duration == timedelta(seconds=15)
    elsewhere = election_of(LeaderElectionSettings(resource_namespace="other"), "mine")
    assert elsewhere is not None
    assert elsewhere.namespace == "other"
    assert election_of(LeaderElectionSettings(leader_elect=False), "mine") is None


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "apiVersion: resourcemanager.config.gardener.cloud/v1alpha1\n"
        "kind: ResourceManagerConfiguration\n"
        "controllers: {resourceClass: seed, managedResource: {syncPeriod: 1h}}\n",
        "utf-8",
    )
    controllers = load(
        ResourceManagerOptions(path, {"--sync-period": "2h"}), {}
    ).configuration.controllers
    assert controllers.resource_class == "seed"
    assert controllers.managed_resource.sync_period == timedelta(hours=2)


def test_every_mistake_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "apiVersion: resourcemanager.config.gardener.cloud/v1alpha1\n"
        "kind: ResourceManagerConfiguration\n"
        "controllers: {resourceClas: seed, health: {concurrentSyncs: 0}}\n",
        "utf-8",
    )
    with pytest.raises(ExceptionGroup) as refused:
        load(ResourceManagerOptions(path), {})
    told = " ".join(str(error) for error in refused.value.exceptions)
    assert "controllers.resourceClas" in told
    assert "controllers.health.concurrentSyncs" in told


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load(ResourceManagerOptions(tmp_path / "nowhere.yaml"), {})
