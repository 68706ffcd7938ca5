"""`certwright rollout run`: its flags, and those of Stakater Reloader."""

from datetime import timedelta

import pytest

from certwright.cli.errors import UsageError
from certwright.cli.rollout.flags import RolloutOptions, parse
from certwright.cli.rollout.process import configuration_of
from certwright.kube import Key
from certwright.operators.rollout.dialects.reloader import ReloaderDialect
from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions, ReloadStrategy
from certwright.operators.rollout.policy import NamespaceFacts
from certwright.operators.rollout.workload import SourceKind, WorkloadKind


def parsed(*words: str) -> RolloutOptions:
    return parse(words, {})


def reloader(*words: str) -> ReloaderOptions:
    return parsed(*words).reloader


def test_nothing_has_to_be_given() -> None:
    assert parsed() == RolloutOptions()
    assert parsed().dialects == ("certwright", "redhat", "reloader")


def test_our_own_flags() -> None:
    options = parsed(
        "--dialects", "reloader,ibm", "--quiet", "30s", "--patience", "20m", "--dry-run",
        "--limit-per-namespace", "2", "--limit-per-cluster", "20", "--key-secret", "ops/key",
        "--recreate-jobs",
    )  # fmt: skip
    assert options.dialects == ("reloader", "ibm")
    assert (options.quiet, options.patience) == (timedelta(seconds=30), timedelta(minutes=20))
    assert (options.per_namespace, options.per_cluster) == (2, 20)
    assert options.home == Key("ops", "key")
    assert options.dry_run
    assert options.reloader.recreate_jobs


def test_the_flags_of_reloader_as_its_chart_writes_them() -> None:
    options = parsed(
        "--log-format=json", "--log-level=warning", "--auto-reload-all=true",
        "--resources-to-ignore=configMaps", "--ignored-workload-types=jobs,cronjobs",
        "--namespaces-to-ignore=kube-system,kube-public", "--namespace-selector=team:shop",
        "--resource-label-selector=reload:*", "--is-Argo-Rollouts=true",
        "--reload-on-create=true", "--reload-on-delete=false", "--reload-strategy=annotations",
        "--enable-ha=true", "--sync-after-restart=true",
    )  # fmt: skip
    found = options.reloader
    assert options.leader_elect
    assert (options.log_level, options.log_format) == ("info", "json")
    assert found.auto_reload_all
    assert found.sources == {SourceKind.SECRET}
    assert found.ignored_workloads == {WorkloadKind.CRON_JOB, WorkloadKind.JOB}
    assert found.ignored_namespaces == {"kube-system", "kube-public"}
    assert found.namespace_selector.matches({"team": "shop"})
    assert found.source_conditions[0].holds({"reload": "x"}, {})
    assert found.argo_rollouts
    assert (found.on_create, found.on_delete) == (True, False)
    assert found.strategy is ReloadStrategy.ANNOTATIONS
    assert options.notes[0].startswith("--sync-after-restart has no effect")


def test_names_of_annotations_can_be_changed() -> None:
    keys = reloader(
        "--auto-annotation", "org/auto", "--secret-annotation", "org/secrets",
        "--configmap-auto-annotation", "org/maps", "--search-match-annotation", "org/match",
        "--pause-deployment-annotation", "org/pause",
    ).keys  # fmt: skip
    assert (keys.auto, keys.match, keys.pause_period) == ("org/auto", "org/match", "org/pause")
    assert keys.named[SourceKind.SECRET] == "org/secrets"
    assert keys.typed_auto[SourceKind.CONFIG_MAP] == "org/maps"
    assert keys.named[SourceKind.CONFIG_MAP] == "configmap.reloader.stakater.com/reload"


def test_the_flags_of_its_second_major() -> None:
    options = parsed(
        "--is-openshift=true", "--leader-election-id=reloader", "--leader-election-namespace=ops",
        "--leader-election-lease-duration=15s", "--leader-election-renew-deadline=10s",
        "--leader-election-retry-period=2s", "--leader-election-release-on-cancel=true",
        "--secret-exclude-annotation=org/not", "--secretproviderclass-annotation=org/classes",
        "--alert-on-reload", "--alert-sink=slack", "--health-addr=:8081",
    )  # fmt: skip
    assert (options.lease, options.lease_namespace) == ("reloader", "ops")
    keys = options.reloader.keys
    assert keys.excluded[SourceKind.SECRET] == "org/not"
    assert keys.named[SourceKind.PROVIDER_CLASS] == "org/classes"
    assert [note.partition(" ")[0] for note in options.notes] == ["--is-openshift", "alerts"]
    lease = configuration_of(options, {}).configuration.leader_election
    assert (lease.resource_name, lease.resource_namespace) == ("reloader", "ops")


@pytest.mark.parametrize(
    ("variables", "told"),
    [({}, 0), ({"ALERT_ON_RELOAD": "false"}, 0), ({"ALERT_ON_RELOAD": "true"}, 1)],
)
def test_alerts_that_are_not_sent_are_told(variables: dict[str, str], told: int) -> None:
    notes = parse([], variables).notes
    assert sum("alerts of Reloader are not sent" in note for note in notes) == told


def test_kinds_can_be_ignored_in_two_ways() -> None:
    assert reloader("--ignore-secrets").sources == {SourceKind.CONFIG_MAP}
    assert reloader("--ignore-configmaps=true").sources == {SourceKind.SECRET}


def test_a_namespace_of_the_environment_is_the_only_one() -> None:
    assert parse([], {"KUBERNETES_NAMESPACE": "shop"}).namespace == "shop"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--webhook-url", "http://x"], "--webhook-url is not supported"),
        (["--dialects", "latin"], "--dialects: latin; there are certwright, redhat"),
        (["--resources-to-ignore", "pods"], "'pods' is none of secrets, configmaps"),
        (["--resources-to-ignore", "secrets,configmaps"], "not both"),
        (["--ignore-secrets", "--ignore-configmaps"], "not both"),
        (["--ignored-workload-types", "pods"], "'pods' is none of cronjobs, jobs"),
        (["--namespace-selector", "a=b=c=d"], "--namespace-selector"),
        (["--resource-label-selector", "!!"], "--resource-label-selector"),
        (["--quiet", "soon"], "--quiet: "),
        (["--patience=-1s"], "--patience: -1s is negative"),
        (["--key-secret", "key"], "--key-secret: 'key' is not NAMESPACE/NAME"),
    ],
)
def test_mistakes_are_named(words: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse(words, {})


@pytest.mark.parametrize(
    "words",
    [["--reload-strategy", "x"], ["--log-level", "x"], ["--limit-per-cluster", "-1"], ["--nope"]],
)
def test_others_end_with_the_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(words, {})
    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_namespaces_that_are_named_are_the_only_ones() -> None:
    dialect = ReloaderDialect(reloader("--namespaces", "shop,bank"))
    assert dialect.covers(NamespaceFacts("bank"))
    assert not dialect.covers(NamespaceFacts("other"))
