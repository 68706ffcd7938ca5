"""What is to be said about a request before anybody signs it. Pure."""

from datetime import datetime

from certwright.issuer.bundle import Bundle
from certwright.issuer.check.reader import IssuerRecord
from certwright.issuer.requests.desk import Asked, Desk
from certwright.issuer.requests.match import IssuerAt
from certwright.issuer.requests.outcomes import Change, missing, not_ready
from certwright.issuer.requests.phase import Gate
from certwright.issuer.sign.verdicts import issued


def before_signing(
    desk: Desk,
    asked: Asked,
    at: IssuerAt,
    record: IssuerRecord | None,
    signed: Bundle | None,
    now: datetime,
) -> Change | None:
    """Return what to say about a request that is ours; None if it is to be signed.

    *signed* is what was signed before and could not be written: it is never signed again.
    """
    gate = desk.gate(asked)
    if gate is Gate.DENY:
        return desk.deny(asked, now)
    if gate is Gate.INITIALIZE:
        return desk.initialize(asked, now)
    if signed is not None:
        return desk.settle(asked, issued(signed), now)
    if record is None:
        return desk.wait(asked, missing(at), now)
    why = not_ready(record.ready, record.metadata.generation)
    return None if why is None else desk.wait(asked, why, now)
