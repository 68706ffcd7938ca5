"""IBM's pod refresh, and its configmap-watcher."""

from datetime import UTC, datetime

import pytest
from tests.unit.operators.rollout.dialects.conftest import Build, config_map, secret, used

from certwright.operators.rollout.dialects.ibm import IbmDialect, restart_marks
from certwright.operators.rollout.policy import ConsumedSource, RestartFacts
from certwright.operators.rollout.workload import SourceKind, SourceRef

OPT_IN = {"watcher.ibm.com/opt-in": "true"}
CONFIG_MAP = "watcher.ibm.com/configmap-resource"
DISABLE = "certmanager.k8s.io/disable-auto-restart"
NOW = datetime(2021, 3, 2, 16, 7, 5, tzinfo=UTC)
AUTHENTICATION = SourceRef(
    SourceKind.CONFIG_MAP, "kube-system", "extension-apiserver-authentication"
)


def test_secrets_of_certificates_count_without_being_asked_for(build: Build) -> None:
    policy = IbmDialect().policy(build())
    assert policy is not None
    for name in ("cert-manager.io/certificate-name", "certmanager.k8s.io/certificate-name"):
        counts = [
            one.use.ref
            for one in policy.candidates
            if all(condition.holds({}, {name: "web"}) for condition in one.conditions)
        ]
        assert counts == [secret("tls")]
    assert not any(
        all(condition.holds({}, {}) for condition in one.conditions) for one in policy.candidates
    )


def test_unless_the_workload_does_not_want_it(build: Build) -> None:
    assert IbmDialect().policy(build({DISABLE: "true"})) is None
    assert IbmDialect().policy(build({DISABLE: "false"})) is not None


def test_the_configmap_that_is_named_counts_in_any_namespace(build: Build) -> None:
    named = {CONFIG_MAP: str(AUTHENTICATION.key), DISABLE: "true"}
    policy = IbmDialect().policy(build(named, labels=OPT_IN))
    assert policy is not None
    assert [one.use.ref for one in policy.candidates] == [AUTHENTICATION]
    assert policy.candidates[0].use.keys is None


@pytest.mark.parametrize("labels", [{}, {"watcher.ibm.com/opt-in": "True"}])
def test_but_only_with_the_label(build: Build, labels: dict[str, str]) -> None:
    named = {CONFIG_MAP: str(AUTHENTICATION.key), DISABLE: "true"}
    assert IbmDialect().policy(build(named, labels=labels)) is None


@pytest.mark.parametrize("text", ["", "name", "/name", "ns/", "ns/A", "a/b/c"])
def test_a_name_without_namespace_is_named(build: Build, text: str) -> None:
    policy = IbmDialect().policy(build({CONFIG_MAP: text}, labels=OPT_IN))
    assert policy is not None
    assert policy.problems == (f"annotation {CONFIG_MAP}: {text!r} is not NAMESPACE/NAME",)


def test_each_part_can_be_left_out(build: Build) -> None:
    workload = build({CONFIG_MAP: str(AUTHENTICATION.key)}, labels=OPT_IN)
    watcher = IbmDialect(pod_refresh=False)
    refresh = IbmDialect(config_maps=False)
    assert watcher.sources == {SourceKind.CONFIG_MAP}
    assert refresh.sources == {SourceKind.SECRET}
    found = [dialect.policy(workload) for dialect in (watcher, refresh)]
    kinds = [{one.use.ref.kind for one in policy.candidates} for policy in found if policy]
    assert kinds == [{SourceKind.CONFIG_MAP}, {SourceKind.SECRET}]


@pytest.mark.parametrize(
    ("refs", "labels"),
    [
        ([secret("tls")], {"certmanager.k8s.io/time-restarted": "2021-3-2.160705"}),
        ([config_map("settings")], {"watcher.ibm.com/restart-time": "2021-3-2.1607"}),
        (
            [secret("tls"), config_map("settings")],
            {
                "certmanager.k8s.io/time-restarted": "2021-3-2.160705",
                "watcher.ibm.com/restart-time": "2021-3-2.1607",
            },
        ),
    ],
)
def test_a_restart_leaves_the_label_of_its_cause(
    build: Build, refs: list[SourceRef], labels: dict[str, str]
) -> None:
    changed = tuple(ConsumedSource(used(ref), "1", "d") for ref in refs)
    marks = restart_marks(RestartFacts(workload=build(), now=NOW, digest="d", changed=changed))
    assert marks.labels == labels
    assert marks.template_labels == labels
