"""What a server's refusal means for the request and for the issuer."""

from datetime import timedelta

from certwright.issuer import IssuerUnavailable, Pending, Permanent, Retry, SignOutcome
from certwright.issuers.acme.errors import AcmeRefused, OrderFailed
from certwright.issuers.acme.jws import MalformedBinding

_OF_THE_REQUEST = {
    "badCSR", "badPublicKey", "caa", "rejectedIdentifier", "unsupportedIdentifier",
}  # fmt: skip
_OF_THE_ACCOUNT = {
    "accountDoesNotExist", "badSignatureAlgorithm", "externalAccountRequired", "invalidContact",
    "unauthorized", "unsupportedContact", "userActionRequired",
}  # fmt: skip
_LIMITED = timedelta(minutes=10)


def verb_for(error: Exception) -> SignOutcome | None:
    """Return what to do about an error; None for those that are simply tried again.

    A rate limit is not held against the request: it waits for as long as the server demands.
    """
    match error:
        case OrderFailed():
            return Permanent(str(error))
        case MalformedBinding():
            return IssuerUnavailable(str(error))
        case AcmeRefused(problem=problem):
            text = str(error)
            if problem.kind == "rateLimited":
                return Pending(text, after=error.wait or _LIMITED)
            if problem.kind in _OF_THE_REQUEST:
                return Permanent(text)
            if problem.kind in _OF_THE_ACCOUNT:
                return IssuerUnavailable(text)
            return Retry(text, after=error.wait or timedelta())
    return None
