"""`certwright manager`: its flags, and the configuration they lead to."""

from pathlib import Path

import pytest

from certwright.cli.manager.flags import ManagerOptions, parse
from certwright.cli.manager.process import configuration_of
from certwright.operators.managedresource.configuration import Configuration


def configured(*words: str) -> Configuration:
    return configuration_of(parse(words), {}).configuration


def running(configuration: Configuration) -> set[str]:
    controllers = configuration.controllers
    switches = {
        "managedresource": controllers.managed_resource.enabled,
        "health": controllers.health.enabled,
        "garbagecollector": controllers.garbage_collector.runs,
        "tokenrequestor": controllers.token_requestor.enabled,
    }
    return {name for name, on in switches.items() if on}


def test_the_flags_of_cmd_operator_are_accepted() -> None:
    """As its manifests have them: no operators are named, and leaders are not elected."""
    options = parse(
        ["--metrics-addr=127.0.0.1:8080", "--enable-leader-election", "--enable-pod-refresher"]
    )
    assert options.operators == ("certmanager",)
    assert (options.metrics, options.leader_elect) == ("127.0.0.1:8080", True)
    assert options.pod_refresher
    plain = parse(["-metrics-addr", ":8080", "-kubeconfig", "k", "-enable-leader-election=false"])
    assert (plain.metrics, plain.kubeconfig) == (":8080", Path("k"))
    assert plain.leader_elect is False
    assert parse([]) == ManagerOptions()


def test_only_what_is_named_runs() -> None:
    assert running(configured()) == set()
    named = configured("--operators", "managedresource,certmanager")
    assert running(named) == {"managedresource", "health"}
    others = configured("--operators", "garbagecollector, tokenrequestor")
    assert running(others) == {"garbagecollector", "tokenrequestor"}


def test_one_lease_and_two_addresses() -> None:
    default = configured()
    assert not default.leader_election.leader_elect
    assert default.leader_election.resource_name == "certwright-manager"
    assert (default.server.metrics.port, default.server.health_probes.port) == (8080, 8081)
    elected = configured("--leader-elect", "--health-probe-addr", ":0")
    assert elected.leader_election.leader_elect
    assert elected.server.health_probes.port == 0


def test_a_file_says_what_no_flag_says(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        "apiVersion: resourcemanager.config.gardener.cloud/v1alpha1\n"
        "kind: ResourceManagerConfiguration\n"
        "leaderElection: {leaderElect: true, resourceName: mine}\n"
        "controllers: {resourceClass: seed}\n",
        "utf-8",
    )
    found = configured("--config", str(path), "--operators", "managedresource")
    assert found.controllers.resource_class == "seed"
    assert found.leader_election.leader_elect
    assert found.leader_election.resource_name == "mine"
    other = configured("--config", str(path), "--leader-elect=false")
    assert not other.leader_election.leader_elect


def test_how_often_and_how_much_at_once() -> None:
    found = configured("--operators", "managedresource", "--concurrency=3", "--sync-period", "2h")
    managed = found.controllers.managed_resource
    assert (managed.concurrent_syncs, managed.sync_period.total_seconds()) == (3, 7200)
    assert parse(["--metrics-secure=false", "--dry-run=false"]) == ManagerOptions()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--metrics-secure"], "--metrics-secure: metrics are served without TLS"),
        (["--dry-run"], "--dry-run: a process that writes nothing keeps nothing"),
        (["--operators", "certmanger"], "certmanger; there are managedresource"),
        (["--operators", ""], "nothing; there are"),
        (["--enable-leader-election=maybe"], "neither true nor false"),
        (["--metrics-address", ":1"], "unrecognized arguments"),
    ],
)
def test_mistakes_end_with_a_message(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        parse(words)
    assert ending.value.code == 2
    assert told in capsys.readouterr().err
