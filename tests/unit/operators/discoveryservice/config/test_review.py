"""What is refused before it is stored."""

import pytest
from tests.support.envoy.resources import cluster, routes
from tests.support.envoy.smallschema import small_schema
from tests.support.webhook import admission_body

from certwright.kube import JsonObject
from certwright.kube.reviews.admission import read_admission_review
from certwright.operators.discoveryservice.config.review import config_webhook, review_config
from certwright.webhook import Allow, Decision, Deny


def config(*resources: JsonObject, **spec: object) -> JsonObject:
    return {
        "apiVersion": "marin3r.3scale.net/v1alpha1",
        "kind": "EnvoyConfig",
        "metadata": {"name": "gateway", "namespace": "shop"},
        "spec": {"nodeID": "gateway", "resources": list(resources), **spec},
    }


def decide(obj: JsonObject, **request: object) -> Decision:
    review = read_admission_review(admission_body(obj, **request))
    return review_config(small_schema(), review)


GOOD = {"type": "cluster", "value": cluster("a")}
BAD = {"type": "cluster", "value": cluster("a", connect_timeout="0s")}


def test_what_can_be_served_passes() -> None:
    assert isinstance(decide(config(GOOD)), Allow)


def test_a_refusal_names_each_field() -> None:
    dangling = {"type": "route", "value": routes("r", "gone")}
    decision = decide(config(BAD, {"type": "cluster", "value": {"nme": 1}}, dangling))
    assert isinstance(decision, Deny)
    assert (decision.code, decision.reason) == (422, "Invalid")
    assert [cause.field for cause in decision.causes] == [
        "spec.resources[0].value.connect_timeout",
        "spec.resources[1].value.nme",
    ]
    assert "spec.resources[0].value.connect_timeout: must be greater than 0s" in decision.message


@pytest.mark.parametrize("spec", [{"nodeID": 7}, {"resources": [{"type": "x"}]}])
def test_what_cannot_be_read_is_refused(spec: JsonObject) -> None:
    assert isinstance(decide(config(GOOD, **spec)), Deny)


def test_a_configuration_that_does_not_change_passes() -> None:
    """Else its finalizers could not be removed once a newer schema refuses it."""
    assert isinstance(decide(config(BAD), operation="UPDATE", oldObject=config(BAD)), Allow)
    assert isinstance(decide(config(BAD), operation="UPDATE", oldObject=config(GOOD)), Deny)


async def test_the_webhook_reviews_what_is_created_and_changed() -> None:
    webhook = config_webhook(small_schema)
    [rule] = webhook.rules
    assert (rule["resources"], rule["operations"]) == (["envoyconfigs"], ["CREATE", "UPDATE"])
    answer = webhook.review(read_admission_review(admission_body(config(BAD))))
    assert not isinstance(answer, Allow | Deny)
    assert isinstance(await answer, Deny)  # type: ignore[misc]
