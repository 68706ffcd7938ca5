"""What a refused dry run says about the way to the webhook."""

import pytest

from certwright.kube import ApiError, Forbidden, InternalError
from certwright.kube.errors import Cause
from certwright.webhook.configuration import Registration
from certwright.webhook.selfcheck import REACHED, refusal_problem, self_check_webhook


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
    registration = Registration("teams", url="https://a", self_check="demo")
    webhook = self_check_webhook(registration)
    assert webhook.object_selector["matchLabels"] == {"webhook.certwright.dev/self-check": "teams"}
    assert webhook.namespace_selector["matchLabels"] == {"kubernetes.io/metadata.name": "demo"}
