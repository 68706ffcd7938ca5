"""Checks before and after ``sign``: is the request sound, does the certificate answer it. Pure."""

from datetime import datetime

from certwright import pki
from certwright.issuer.bundle import Bundle
from certwright.issuer.request import Request
from certwright.issuer.requests.desk import TermsError
from certwright.issuer.sign.verdicts import Result, Verdict, named

_UNACCEPTABLE = frozenset({"KeyMismatch", "Expired", "CaMismatch"})
"""What makes a certificate useless or dangerous. The rest is between requester and authority."""

LARGE = 8192
"""Bytes from which reading a signing request belongs in a thread."""


class BadBundle(ValueError):
    """What ``sign`` returned is not a certificate for this request."""


def request_refusal(request: Request) -> Verdict | None:
    """Return why a request must not be signed at all; None if nothing speaks against it.

    Reading it may take a while: large ones belong in a thread.
    """
    try:
        request.template()
    except TermsError as error:
        return Verdict(result=Result.FAILED, text=str(error), reason=error.reason)
    except pki.PkiError as error:
        return Verdict(result=Result.FAILED, text=named(error))
    return None


def accepted(bundle: Bundle, request: Request, now: datetime) -> tuple[Bundle, str]:
    """Return a bundle in its normal form, and what is odd about its validity, or nothing.

    Leaf first, no root, no repeats; the root becomes the authority where the bundle has none.
    What was signed here and now for this very request is taken as it is.

    Raises:
        BadBundle: it cannot be read, is no chain, or its leaf does not fit the request.
    """
    if bundle.made_for and bundle.made_for == request.uid:
        return bundle, bundle.remark
    try:
        chain = pki.read_chain(bundle.chain)
        ca = pki.write_certificates(*pki.read_bundle(bundle.ca)) if bundle.ca else b""
        violations = pki.certificate_violations(chain.leaf, request.csr, request.terms, now)
    except pki.PkiError as error:
        raise BadBundle(named(error)) from error
    wrong = [one for one in violations if one.name in _UNACCEPTABLE]
    if wrong:
        raise BadBundle("; ".join(f"{one.name}: {one.message}" for one in wrong))
    odd = next((one.message for one in violations if one.name == "DurationMismatch"), "")
    normal = Bundle.of_chain(chain)
    return Bundle(normal.chain, ca or normal.ca), odd
