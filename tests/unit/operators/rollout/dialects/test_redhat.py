"""The annotations of cmd-operator, and what it leaves behind."""

import json
from datetime import UTC, datetime

import pytest
from tests.unit.operators.rollout.dialects.conftest import Build, config_map, secret, used

from certwright.operators.rollout.dialects.redhat import RedhatDialect, record_marks, restart_marks
from certwright.operators.rollout.policy import ConsumedSource, RestartFacts
from certwright.operators.rollout.workload import UsePath, Workload

GROUP = "certmanagerdeployment.redhat.io"
ALLOW = f"{GROUP}/allow-restart"
VERSIONS = f"{GROUP}/secret-resource-versions"
NOW = datetime(2021, 3, 2, 16, 7, 5, 250_000, tzinfo=UTC)
DIALECT = RedhatDialect()


def facts(workload: Workload) -> RestartFacts:
    tls = ConsumedSource(used(secret("tls")), "812", "digest-of-tls")
    return RestartFacts(workload=workload, now=NOW, digest="d", changed=(tls,), consumed=(tls,))


@pytest.mark.parametrize("value", [None, "True", "1", "", "yes", "false"])
def test_only_the_exact_text_allows_restarts(build: Build, value: str | None) -> None:
    assert DIALECT.policy(build({} if value is None else {ALLOW: value})) is None


def test_only_secrets_count_and_only_those_of_cert_manager(build: Build) -> None:
    policy = DIALECT.policy(build({ALLOW: "true"}))
    assert policy is not None
    (candidate,) = policy.candidates
    assert candidate.use.ref == secret("tls")
    assert all(one.holds({}, {"cert-manager.io/issuer-kind": ""}) for one in candidate.conditions)
    assert not all(one.holds({}, {}) for one in candidate.conditions)


def test_a_secret_can_ask_to_be_ignored(build: Build) -> None:
    policy = DIALECT.policy(build({ALLOW: "true"}))
    assert policy is not None
    issued = {"cert-manager.io/issuer-kind": "Issuer", f"{GROUP}/ignore": "true"}
    assert not all(one.holds({}, issued) for one in policy.candidates[0].conditions)


def test_further_secrets_can_be_named(build: Build) -> None:
    policy = DIALECT.policy(build({ALLOW: "true", f"{GROUP}/watch-secrets": "tls, other"}))
    assert policy is not None
    found = {one.use.ref: one.use.paths for one in policy.candidates}
    assert found == {
        secret("tls"): frozenset({UsePath.VOLUME}),
        secret("other"): frozenset({UsePath.NAMED}),
    }


def test_names_that_are_none_are_named(build: Build) -> None:
    policy = DIALECT.policy(build({ALLOW: "true", f"{GROUP}/watch-secrets": "not/one"}))
    assert policy is not None
    assert policy.problems[0].startswith(f"annotation {GROUP}/watch-secrets: 'not/one'")


def test_a_restart_leaves_what_that_operator_left(build: Build) -> None:
    marks = restart_marks(facts(build({ALLOW: "true", VERSIONS: '{"old":"7"}'})))
    assert marks.labels == {f"{GROUP}/time-restarted": "2021-3-2.1607"}
    assert marks.template_labels == marks.labels
    assert marks.template_annotations == {f"{GROUP}/restarted-at": "2021-03-02T16:07:05.250000Z"}
    assert json.loads(marks.annotations[VERSIONS] or "") == {"old": "7", "tls": "812"}
    hashes = marks.annotations[f"{GROUP}/secret-content-hashes"] or ""
    assert json.loads(hashes) == {"tls": "digest-of-tls"}


@pytest.mark.parametrize("written", ["null", "garbage", '{"a":1}', "[]", "{" * 100_000])
def test_bookkeeping_that_is_none_is_begun_anew(build: Build, written: str) -> None:
    marks = record_marks(facts(build({ALLOW: "true", VERSIONS: written})))
    assert json.loads(marks.annotations[VERSIONS] or "") == {"tls": "812"}


def test_a_record_changes_nothing_in_the_template(build: Build) -> None:
    marks = record_marks(facts(build({ALLOW: "true"})))
    assert not marks.labels
    assert not marks.template_labels
    assert not marks.template_annotations


def test_its_events_have_its_names(build: Build) -> None:
    policy = DIALECT.policy(build({ALLOW: "true"}, used(config_map("x"))))
    assert policy is not None
    events = policy.events
    assert (events.source, events.restarted) == ("podrefresh-controller", "PodRefresh")
    assert (events.failed, events.stalled) == ("PodRefreshFailure", "PodRefreshStalled")
    assert events.restarted_kinds == frozenset({"Deployment"})
