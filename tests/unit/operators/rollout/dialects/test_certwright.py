"""Our own annotations."""

from collections.abc import Iterable

import pytest
from tests.unit.operators.rollout.dialects.conftest import Build, config_map, secret

from certwright.operators.rollout.dialects.certwright import CertwrightDialect
from certwright.operators.rollout.policy import CandidateSource, NamespaceFacts
from certwright.operators.rollout.workload import SourceRef, UsePath

RESTART, ALSO, EXCEPT = (f"rollout.certwright.dev/{n}" for n in ("restart", "also", "except"))
DIALECT = CertwrightDialect()


def refs(candidates: Iterable[CandidateSource]) -> set[SourceRef]:
    return {candidate.use.ref for candidate in candidates}


def test_without_the_annotation_it_says_nothing(build: Build) -> None:
    assert DIALECT.policy(build()) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("true", {secret("tls"), config_map("settings")}),
        ("secrets", {secret("tls")}),
        ("configmaps", {config_map("settings")}),
        ("certificates", {secret("tls")}),
    ],
)
def test_what_counts(build: Build, value: str, expected: set[SourceRef]) -> None:
    policy = DIALECT.policy(build({RESTART: value}))
    assert policy is not None
    assert refs(policy.candidates) == expected


def test_certificates_are_secrets_of_cert_manager(build: Build) -> None:
    policy = DIALECT.policy(build({RESTART: "certificates"}))
    assert policy is not None
    conditions = policy.candidates[0].conditions
    issued = {"cert-manager.io/certificate-name": "web"}
    assert all(condition.holds({}, issued) for condition in conditions)
    assert not all(condition.holds({}, {}) for condition in conditions)


def test_a_source_can_ask_to_be_ignored(build: Build) -> None:
    policy = DIALECT.policy(build({RESTART: "true"}))
    assert policy is not None
    ignored = {"rollout.certwright.dev/ignore": "true"}
    for candidate in policy.candidates:
        assert not all(condition.holds({}, ignored) for condition in candidate.conditions)


def test_more_and_less_than_is_consumed(build: Build) -> None:
    asked = {RESTART: "true", ALSO: "secret/licence, ConfigMap/zones", EXCEPT: "configmap/settings"}
    policy = DIALECT.policy(build(asked))
    assert policy is not None
    found = {candidate.use.ref: candidate.use for candidate in policy.candidates}
    assert set(found) == {secret("tls"), secret("licence"), config_map("zones")}
    assert found[secret("licence")].paths == {UsePath.NAMED}


def test_false_leaves_it_alone(build: Build) -> None:
    policy = DIALECT.policy(build({RESTART: "false"}))
    assert policy is not None
    assert not policy.enabled


@pytest.mark.parametrize(
    ("annotation", "value"),
    [(RESTART, "True"), (ALSO, "tls"), (ALSO, "pod/x"), (EXCEPT, "secret/"), (ALSO, "secret/A")],
)
def test_what_makes_no_sense_is_named(build: Build, annotation: str, value: str) -> None:
    policy = DIALECT.policy(build({RESTART: "true", annotation: value}))
    assert policy is not None
    assert [problem.split(":")[0] for problem in policy.problems] == [f"annotation {annotation}"]


def test_a_namespace_can_ask_to_be_left_alone() -> None:
    assert DIALECT.covers(NamespaceFacts("shop"))
    assert not DIALECT.covers(NamespaceFacts("shop", {"rollout.certwright.dev/ignore": "true"}))
