"""What one certificate costs inside the issuer, from the request to what is written."""

from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

import msgspec

from bench.issuingworkload import OURS, names, request, signing_requests
from bench.result import Result, at_most
from bench.suite.pki import ROUNDS, bare_issue, cpu
from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.issuer import Bundle
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.requests.certificaterequest import CertificateRequestKind
from certwright.issuer.requests.kind import StoredRequest
from certwright.issuer.settings import IssuerSettings
from certwright.issuer.sign.sign import accepted, request_refusal
from certwright.issuers.ca import app
from certwright.kube import Key

NOW = datetime.now(UTC)
NAMESPACE = "default"


def run(runs: int) -> Result:
    key = pki.generate_key(pki.KeySpec())
    authority = pki.create_root(pki.parse_name("CN=root"), key, timedelta(days=999), NOW)
    [(name, pem)] = signing_requests(names(1)).items()
    steps = Steps(authority, stored(name, pem))

    def bare() -> None:
        bare_issue(pem, authority.certificate, key)

    # Turn by turn, so that a busy neighbour hits both.
    pairs = [(cpu(steps.take), cpu(bare)) for _ in range(ROUNDS * runs)]
    factor = median(one / other for one, other in pairs)
    return Result(
        "issue-path",
        "one P-256 certificate as the issuer `ca` makes it: request and its terms read, checked, "
        "signed, PEM written, the answer accepted; CPU time. Bare are "
        "the calls of `cryptography` alone, with the signature of the request verified.",
        {
            "certwright": {"µs per certificate": median(one for one, _ in pairs) * 1e6},
            "bare cryptography": {"µs per certificate": median(other for _, other in pairs) * 1e6},
        },
        [at_most("issuer: full P-256 issue, times the bare calls", factor, 1.3, "")],
        runs,
    )


def stored(name: str, pem: bytes) -> CertificateRequest:
    """Return a request as the API server would have it."""
    obj = request(NAMESPACE, name, pem, OURS)
    obj["metadata"] |= {"uid": "1", "creationTimestamp": NOW.isoformat()}
    return msgspec.convert(obj, CertificateRequest)


class Steps:
    """What is done between reading a request and putting its status together."""

    def __init__(self, authority: pki.Authority, typed: CertificateRequest) -> None:
        assert app.namespaced_kind is not None
        kind = app.namespaced_kind.resource
        self._authority = authority
        self._kind = CertificateRequestKind([kind], IssuerSettings(group=kind.group, set_ca=True))
        self._stored = StoredRequest(typed, ())
        self._issuer = IssuerKey(kind, Key(NAMESPACE, "authority"))

    def take(self) -> None:
        """Take all of them once."""
        request_ = self._kind.for_author(
            self._stored, self._issuer, attempt=1, now=NOW, read_secret=_unused, offload=_unused
        )
        assert request_refusal(request_) is None
        accepted(_finished(request_.sign_with(self._authority)), request_, NOW)


def _finished(coroutine: Coroutine[Any, Any, Bundle]) -> Bundle:
    """Return what a coroutine returns that never waits: nothing is slow about P-256."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waited")


async def _unused(*_: Any) -> Any:
    raise NotImplementedError
