"""What a refused dry run says about the way to the webhook."""

from typing import Any

import orjson
import pytest
from tests.support.webhook import admission_body, config_map

from certwright.client import Client, Request, Response
from certwright.clock import SYSTEM
from certwright.kube import ApiError, BadRequest, Forbidden, InternalError
from certwright.kube.errors import Cause
from certwright.kube.reviews.admission import read_admission_review
from certwright.runtime import Metrics
from certwright.runtime.queue.backoff import new_rng
from certwright.tls.server import ServingCertificate
from certwright.webhook.configuration import Registration
from certwright.webhook.metrics import WebhookMetrics
from certwright.webhook.selfcheck import REACHED, SelfCheck, refusal_problem, self_check_webhook
from certwright.webhook.server import webhook_profile

REGISTRATION = Registration("teams", url="https://a", self_check="demo")


def reached(fingerprint: str, nonce: str) -> ApiError:
    causes = [Cause(REACHED, fingerprint, nonce)]
    return Forbidden("denied the request", causes=causes, reason=REACHED)


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (reached("f1", "n1"), ""),
        (reached("f2", "n1"), "reached with another certificate"),
        (reached("", "n1"), "reached with another certificate"),
        (reached("f1", "n2"), "another webhook answered"),
        (Forbidden("configmaps is forbidden"), "configmaps is forbidden"),
        (InternalError("x509: unknown authority"), "x509: unknown authority"),
    ],
)
def test_only_the_own_question_and_certificate_count(error: ApiError, problem: str) -> None:
    found = refusal_problem(error, "n1", "f1")
    assert problem in found
    assert bool(found) == bool(problem)


def test_the_webhook_of_the_check_matches_nothing_else() -> None:
    webhook = self_check_webhook(REGISTRATION)
    assert webhook.object_selector["matchLabels"] == {"webhook.certwright.dev/self-check": "teams"}
    assert webhook.namespace_selector["matchLabels"] == {"kubernetes.io/metadata.name": "demo"}


async def test_the_check_answers_with_what_the_connection_had_and_refuses_nonsense() -> None:
    certificate = ServingCertificate(SYSTEM, WebhookMetrics(Metrics()), webhook_profile())
    client = Client(Nowhere())
    check = SelfCheck(REGISTRATION, client, certificate, new_rng(1))
    annotations = {"webhook.certwright.dev/nonce": "n1"}
    answer = await check.answer(admission_body(config_map(annotations=annotations)), "f1")
    status = orjson.loads(answer.body)["response"]["status"]
    assert (status["reason"], status["code"]) == (REACHED, 403)
    assert status["details"]["causes"] == [{"reason": REACHED, "message": "f1", "field": "n1"}]
    nonsense: list[Any] = [None, [], {"metadata": 5}]
    for obj in nonsense:
        with pytest.raises(BadRequest, match="self-check"):
            await check.answer(admission_body(object=obj), "f1")


@pytest.mark.parametrize(
    ("dry_run", "kind", "labels", "exempt"),
    [
        (True, "Lease", {"webhook.certwright.dev/self-check": "teams"}, True),
        (False, "Lease", {"webhook.certwright.dev/self-check": "teams"}, False),
        (True, "ConfigMap", {"webhook.certwright.dev/self-check": "teams"}, False),
        (True, "Lease", {"other": "teams"}, False),
        (True, "Lease", 5, False),
    ],
)
def test_no_label_leads_past_a_webhook_but_in_dry_runs(
    *, dry_run: bool, kind: str, labels: Any, exempt: bool
) -> None:
    body = admission_body({**config_map(labels=labels), "kind": kind}, dryRun=dry_run)
    assert SelfCheck.concerns(read_admission_review(body)) is exempt


class Nowhere:
    """A transport that is never used."""

    async def send(self, request: Request) -> Response:
        raise AssertionError(request)

    def stream(self, request: Request) -> Any:
        raise AssertionError(request)

    async def close(self) -> None:
        """There is nothing to close."""
