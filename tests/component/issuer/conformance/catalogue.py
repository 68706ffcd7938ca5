"""The kit's cases by name, and how an issuer answers one without a cluster."""

from datetime import UTC, datetime

from tests.component.issuer.conformance.bare import Bare, encoded

from certwright import pki
from certwright.issuer.conformance.behaviours.behaviour import Behaviour
from certwright.issuer.conformance.cases.case import Case
from certwright.issuer.conformance.cases.objects import make_case_request
from certwright.issuer.conformance.runner import ITEMS
from certwright.issuer.conformance.violations import answer_violations
from certwright.pki import Violation

NOW = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
KEY = pki.generate_key(pki.KeySpec())
CASES = [one for one in ITEMS if isinstance(one, Case)]

_ANSWERING = (
    "answer", "try_to_sign", "read_request", "accept", "refuse", "wait", "afterwards",
    "is_ours", "is_approved", "is_denied", "is_final", "has_issuer", "look_after",
    "answer_csr", "csr_terms", "may_sign_csr", "is_our_signer", "wait_csr", "refuse_csr",
)  # fmt: skip


def item(suite: str, name: str) -> Behaviour | Case:
    return next(one for one in ITEMS if (one.suite, one.name) == (suite, name))


def only_signs(issuer: type[Bare]) -> bool:
    """Return whether an issuer differs in its certificates alone."""
    return all(getattr(issuer, name) is getattr(Bare, name) for name in _ANSWERING)


def judged(issuer: Bare, case: Case) -> list[Violation]:
    """Return what the kit says about the certificate that an issuer signs for a case."""
    asked = make_case_request(case, KEY)
    chain, authority = issuer.sign(asked.request, asked.terms, NOW)
    ready = {"type": "Ready", "status": "True", "reason": "Issued"}
    status = {"certificate": encoded(chain), "ca": encoded(authority), "conditions": [ready]}
    return answer_violations(asked, {"kind": case.suite, "status": status}, (), NOW)
