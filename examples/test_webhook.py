"""Decisions are plain values, so a webhook is tested without a server."""

from typing import Any

import orjson
import pytest

from certwright.kube.reviews.admission import read_admission_review
from certwright.webhook import AdmissionReview, Allow, Deny, Patch, configurations
from webhook import LABEL, default, default_team, known, known_team, where


def review(**labels: str) -> AdmissionReview:
    config_map = {"metadata": {"name": "a", "labels": labels} if labels else {"name": "a"}}
    request: dict[str, Any] = {
        "uid": "1",
        "kind": {"version": "v1", "kind": "ConfigMap", "group": ""},
        "resource": {"version": "v1", "resource": "configmaps"},
        "operation": "CREATE",
        "namespace": "search",
        "object": config_map,
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return read_admission_review(orjson.dumps(body))


def test_the_namespace_is_the_default() -> None:
    decision = default_team(review())
    assert isinstance(decision, Patch)
    assert decision.obj["metadata"]["labels"] == {LABEL: "search"}


def test_a_team_that_was_given_stays() -> None:
    decision = default_team(review(**{LABEL: "payments"}))
    assert isinstance(decision, Patch)
    assert decision.obj["metadata"]["labels"] == {LABEL: "payments"}


@pytest.mark.parametrize(("team", "kind"), [("payments", Allow), ("chess", Deny)])
def test_only_known_teams_pass(team: str, kind: type) -> None:
    assert isinstance(known_team(review(**{LABEL: team})), kind)


def test_both_are_registered() -> None:
    kinds = [obj["kind"] for obj in configurations(where, [default, known], b"")]
    assert kinds == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
