"""The annotations and marks of Stakater Reloader."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.operators.rollout.dialects.conftest import Build, config_map, secret, used

from certwright.kube import Key
from certwright.operators.rollout.dialects.reloader import (
    ReloaderDialect,
    restart_marks,
    variable_name,
)
from certwright.operators.rollout.dialects.reloaderoptions import (
    ReloaderOptions,
    ReloadStrategy,
    conditions_of,
    parse_selector,
)
from certwright.operators.rollout.policy import (
    ConsumedSource,
    NamespaceFacts,
    RestartFacts,
    RestartMode,
    RolloutPolicy,
)
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    SourceUse,
    Workload,
    WorkloadKind,
    WorkloadRef,
)

DOMAIN = "reloader.stakater.com"
AUTO = f"{DOMAIN}/auto"
SEARCH = f"{DOMAIN}/search"
SECRET_AUTO = f"secret.{DOMAIN}/auto"
SECRET_RELOAD = f"secret.{DOMAIN}/reload"
CONFIG_MAP_RELOAD = f"configmap.{DOMAIN}/reload"
SECRET_EXCLUDE = f"secrets.exclude.{DOMAIN}/reload"
NOW = datetime(2031, 5, 17, 12, tzinfo=UTC)


def counts(
    policy: RolloutPolicy | None, ref: SourceRef, annotations: Mapping[str, str] | None = None
) -> bool:
    """Return whether a change of a source restarts the workload."""
    if policy is None:
        return False
    conditions = [one.conditions for one in policy.candidates if one.use.ref == ref] + [
        one.conditions
        for one in policy.patterns
        if (one.kind, one.namespace) == (ref.kind, ref.namespace) and one.matches(ref.name)
    ]
    return any(all(one.holds({}, annotations or {}) for one in each) for each in conditions)


def policy_of(workload: Workload, options: ReloaderOptions | None = None) -> RolloutPolicy | None:
    return ReloaderDialect(options or ReloaderOptions()).policy(workload)


def test_without_annotations_it_says_nothing(build: Build) -> None:
    assert policy_of(build()) is None
    assert policy_of(build({AUTO: "false"})) is None


def test_auto_counts_all_that_containers_consume_as_a_whole(build: Build) -> None:
    some_keys = used(secret("tls"), keys=frozenset({"tls.crt"}))
    unmounted = SourceUse(secret("spare"))
    policy = policy_of(build({AUTO: "true"}, some_keys, unmounted, used(config_map("settings"))))
    assert policy is not None
    assert counts(policy, secret("tls"))
    assert counts(policy, config_map("settings"))
    assert not counts(policy, secret("spare"))
    assert not counts(policy, secret("unrelated"))
    assert all(one.use.keys is None for one in policy.candidates)


def test_auto_of_one_kind(build: Build) -> None:
    policy = policy_of(build({SECRET_AUTO: "true"}))
    assert counts(policy, secret("tls"))
    assert not counts(policy, config_map("settings"))


def test_named_ones_count_whether_consumed_or_not(build: Build) -> None:
    policy = policy_of(build({SECRET_RELOAD: "other, web-.*", CONFIG_MAP_RELOAD: "settings"}))
    assert counts(policy, secret("other"))
    assert counts(policy, secret("web-eu"))
    assert counts(policy, config_map("settings"))
    assert not counts(policy, secret("tls"))
    assert not counts(policy, secret("a-web-eu"))


def test_search_counts_what_is_consumed_and_marked(build: Build) -> None:
    policy = policy_of(build({SEARCH: "true"}))
    assert counts(policy, secret("tls"), {f"{DOMAIN}/match": "true"})
    assert not counts(policy, secret("tls"))
    assert not counts(policy, secret("other"), {f"{DOMAIN}/match": "true"})


def test_excluded_and_ignored_ones_do_not_count(build: Build) -> None:
    policy = policy_of(build({AUTO: "true", SECRET_EXCLUDE: "tls"}))
    assert not counts(policy, secret("tls"))
    assert not counts(policy, config_map("settings"), {f"{DOMAIN}/ignore": "true"})
    policy = policy_of(build({SECRET_RELOAD: ".*", SECRET_EXCLUDE: "tls"}))
    assert not counts(policy, secret("tls"))
    assert counts(policy, secret("other"))


def test_annotations_of_pods_count_if_the_workload_has_none(build: Build) -> None:
    assert counts(policy_of(build(template_annotations={AUTO: "true"})), secret("tls"))
    said = build({AUTO: "false"}, template_annotations={AUTO: "true"})
    assert not counts(policy_of(said), secret("tls"))


def test_all_workloads_can_be_asked_for(build: Build) -> None:
    everything = ReloaderOptions(auto_reload_all=True)
    assert counts(policy_of(build(), everything), secret("tls"))
    assert policy_of(build({AUTO: "false"}), everything) is None


def test_kinds_of_sources_and_workloads_can_be_ignored(build: Build) -> None:
    no_config_maps = ReloaderOptions(sources=frozenset({SourceKind.SECRET}))
    policy = policy_of(build({AUTO: "true"}), no_config_maps)
    assert counts(policy, secret("tls"))
    assert not counts(policy, config_map("settings"))
    no_cron_jobs = ReloaderOptions(ignored_workloads=frozenset({WorkloadKind.CRON_JOB}))
    workload = build({AUTO: "true"}, kind=WorkloadKind.CRON_JOB)
    assert policy_of(workload, no_cron_jobs) is None
    assert policy_of(workload) is not None


@pytest.mark.parametrize(
    ("parts", "labels", "meets"),
    [
        (["team:shop"], {"team": "shop"}, True),
        (["team:*"], {"team": "any"}, True),
        (["team=*", "tier!=test"], {"team": "x", "tier": "prod"}, True),
        (["team=shop"], {"team": "other"}, False),
        (["tier!=test"], {"tier": "test"}, False),
        (["!tier"], {"tier": "test"}, False),
    ],
)
def test_labels_of_sources(
    build: Build, parts: list[str], labels: dict[str, str], *, meets: bool
) -> None:
    selector = parse_selector(parts)
    assert selector.matches(labels) is meets
    options = ReloaderOptions(source_conditions=conditions_of(selector))
    policy = policy_of(build({AUTO: "true"}), options)
    assert policy is not None
    conditions = policy.candidates[0].conditions
    assert all(condition.holds(labels, {}) for condition in conditions) is meets


def test_a_choice_of_labels_is_refused() -> None:
    with pytest.raises(ValueError, match="not a choice"):
        conditions_of(parse_selector(["team in (a", "b)"]))


def test_namespaces() -> None:
    options = ReloaderOptions(
        ignored_namespaces=frozenset({"kube-system"}),
        namespace_selector=parse_selector(["reload:*"]),
    )
    dialect = ReloaderDialect(options)
    assert dialect.covers(NamespaceFacts("shop", {"reload": "yes"}))
    assert not dialect.covers(NamespaceFacts("shop"))
    assert not dialect.covers(NamespaceFacts("kube-system", {"reload": "yes"}))
    only = ReloaderDialect(replace(options, namespaces=frozenset({"shop"})))
    assert not only.covers(NamespaceFacts("other", {"reload": "yes"}))


@pytest.mark.parametrize("text", ["(", "a{9999}", "x" * 10_000, "(a*)*(?=b)"])
def test_expressions_that_cannot_be_used_are_named(build: Build, text: str) -> None:
    policy = policy_of(build({SECRET_RELOAD: text}))
    assert policy is not None
    assert policy.problems[0].startswith(f"annotation {SECRET_RELOAD}: ")


def test_an_expression_that_backtracks_costs_nothing(build: Build) -> None:
    policy = policy_of(build({SECRET_RELOAD: "(a+)+b"}))
    assert not counts(policy, secret("a" * 250))


@pytest.mark.parametrize(
    ("kind", "strategy", "annotations", "mode"),
    [
        (WorkloadKind.DEPLOYMENT, ReloadStrategy.ENV_VARS, {}, RestartMode.ENVIRONMENT),
        (WorkloadKind.DEPLOYMENT, ReloadStrategy.ANNOTATIONS, {}, RestartMode.TEMPLATE),
        (WorkloadKind.CRON_JOB, ReloadStrategy.ENV_VARS, {}, RestartMode.INSTANTIATE),
        (WorkloadKind.ROLLOUT, ReloadStrategy.ENV_VARS, {}, RestartMode.TEMPLATE),
        (
            WorkloadKind.ROLLOUT,
            ReloadStrategy.ENV_VARS,
            {f"{DOMAIN}/rollout-strategy": "restart"},
            RestartMode.RESTART_AT,
        ),
    ],
)
def test_how_each_kind_is_restarted(
    build: Build,
    kind: WorkloadKind,
    strategy: ReloadStrategy,
    annotations: dict[str, str],
    mode: RestartMode,
) -> None:
    options = ReloaderOptions(strategy=strategy, argo_rollouts=True)
    policy = policy_of(build({AUTO: "true", **annotations}, kind=kind), options)
    assert policy is not None
    assert policy.mode is mode


def test_argo_rollouts_have_to_be_asked_for(build: Build) -> None:
    assert policy_of(build({AUTO: "true"}, kind=WorkloadKind.ROLLOUT)) is None


def test_a_deployment_can_be_paused_with_each_restart(build: Build) -> None:
    key = f"deployment.{DOMAIN}/pause-period"
    policy = policy_of(build({AUTO: "true", key: "5m"}))
    assert policy is not None
    assert policy.pause_period is not None
    assert policy.pause_period.duration == timedelta(minutes=5)
    assert policy.pause_period.annotation == f"deployment.{DOMAIN}/paused-at"
    for kind, text in ((WorkloadKind.STATEFUL_SET, "5m"), (WorkloadKind.DEPLOYMENT, "soon")):
        policy = policy_of(build({AUTO: "true", key: text}, kind=kind))
        assert policy is not None
        assert policy.pause_period is None


# Marks


def facts(workload: Workload, *refs: SourceRef) -> RestartFacts:
    changed = tuple(
        ConsumedSource(
            next((use for use in workload.uses if use.ref == ref), SourceUse(ref)),
            "1",
            f"d-{ref.name}",
        )
        for ref in refs
    )
    return RestartFacts(workload=workload, now=NOW, digest="all", changed=changed)


def test_annotations_tell_what_the_last_restart_was_for(build: Build) -> None:
    options = ReloaderOptions(strategy=ReloadStrategy.ANNOTATIONS)
    marks = restart_marks(options, facts(build(), config_map("settings"), secret("tls")))
    told = json.loads(marks.template_annotations[f"{DOMAIN}/last-reloaded-from"] or "")
    assert told == {
        "type": "SECRET",
        "name": "tls",
        "namespace": "shop",
        "hash": "d-tls",
        "containerRefs": ["main"],
        "observedAt": int(NOW.timestamp()),
    }


def test_variables_go_to_the_container_that_has_them_or_consumes(build: Build) -> None:
    uses = (used(secret("tls"), "side"), used(config_map("a.b"), "init"), used(secret("known")))
    held = {"side": {"STAKATER_KNOWN_SECRET": "sha1"}}
    workload = build({}, *uses, environment=held)
    marks = restart_marks(
        ReloaderOptions(), facts(workload, secret("tls"), config_map("a.b"), secret("known"))
    )
    assert marks.environment == {
        "side": {"STAKATER_TLS_SECRET": "d-tls", "STAKATER_KNOWN_SECRET": "d-known"},
        "main": {"STAKATER_A_B_CONFIGMAP": "d-a.b"},
    }
    assert not marks.template_annotations


@pytest.mark.parametrize(
    ("name", "variable"),
    [("my-secret", "MY_SECRET"), ("a.b--c", "A_B_C"), ("x1", "X1")],
)
def test_names_of_variables(name: str, variable: str) -> None:
    assert variable_name(secret(name)) == f"STAKATER_{variable}_SECRET"


# Beside a second description of when Reloader reloads


def reloads(
    workload: Workload, source: SourceRef, marks: Mapping[str, str], *, everything: bool
) -> bool:
    """Say in other words whether Reloader reloads a workload for a source."""
    kind = "secret" if source.kind is SourceKind.SECRET else "configmap"
    if marks.get(f"{DOMAIN}/ignore") == "true":
        return False
    if source.name in workload.annotations.get(f"{kind}s.exclude.{DOMAIN}/reload", "").split(","):
        return False
    four = [AUTO, SEARCH, f"{kind}.{DOMAIN}/auto", f"{kind}.{DOMAIN}/reload"]
    place = workload.annotations
    if not set(four) & set(place):
        place = workload.template_annotations
    auto, search, typed, named = (place.get(key, "") for key in four)
    consumed = any(use.ref == source and use.containers for use in workload.uses)
    if source.name in named.split(","):
        return True
    if not consumed:
        return False
    if "true" in (auto, typed) or (everything and not auto and not typed):
        return True
    return search == "true" and marks.get(f"{DOMAIN}/match") == "true"


WORKLOAD = WorkloadRef(WorkloadKind.DEPLOYMENT, Key("shop", "web"))
REFS = (secret("tls"), secret("other"), config_map("settings"))
KEYS = (
    AUTO, SEARCH, SECRET_AUTO, f"configmap.{DOMAIN}/auto", SECRET_RELOAD, CONFIG_MAP_RELOAD,
    SECRET_EXCLUDE, f"configmaps.exclude.{DOMAIN}/reload",
)  # fmt: skip


def values(key: str) -> Iterator[str]:
    yield from ("tls", "other", "settings,tls") if key.endswith("reload") else ("true", "false")


ANNOTATIONS = st.fixed_dictionaries(
    {}, optional={key: st.sampled_from(list(values(key))) for key in KEYS}
)


@given(
    own=ANNOTATIONS,
    pods=ANNOTATIONS,
    marks=st.fixed_dictionaries(
        {}, optional={f"{DOMAIN}/match": st.just("true"), f"{DOMAIN}/ignore": st.just("true")}
    ),
    source=st.sampled_from(REFS),
    everything=st.booleans(),
)
def test_it_says_what_another_description_says(
    own: dict[str, str],
    pods: dict[str, str],
    marks: dict[str, str],
    source: SourceRef,
    everything: bool,  # noqa: FBT001 - given
) -> None:
    workload = Workload(
        ref=WORKLOAD,
        annotations=own,
        template_annotations=pods,
        containers=("main",),
        uses=(used(secret("tls")), used(config_map("settings"))),
    )
    policy = policy_of(workload, ReloaderOptions(auto_reload_all=everything))
    assert counts(policy, source, marks) is reloads(workload, source, marks, everything=everything)
