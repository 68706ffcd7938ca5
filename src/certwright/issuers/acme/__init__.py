"""Certificates from an ACME server (RFC 8555), such as Let's Encrypt.

``python -m certwright.issuers.acme --help`` lists its commands.

::

    jws  messages  client    the protocol
    solvers  responder       the proofs that we hold a name
    orders                   from a request to a certificate, across restarts
    verbs  issuer            the issuer
"""

from certwright.issuers.acme.client import AccountCredentials, AcmeClient, OrderState, retry_after
from certwright.issuers.acme.errors import AcmeError, AcmeRefused, OrderFailed
from certwright.issuers.acme.issuer import AcmeSpec, acme_issuer, app
from certwright.issuers.acme.jws import AccountKey, ExternalAccount, MalformedBinding
from certwright.issuers.acme.messages import Identifier, ProblemDocument
from certwright.issuers.acme.orders import (
    IssuedOrder,
    OrderProcess,
    PendingOrder,
    Ticket,
    identifiers,
)
from certwright.issuers.acme.responder import Responder
from certwright.issuers.acme.solvers import Proof, Solver, WebhookSolver

__all__ = [
    "AccountCredentials",
    "AccountKey",
    "AcmeClient",
    "AcmeError",
    "AcmeRefused",
    "AcmeSpec",
    "ExternalAccount",
    "Identifier",
    "IssuedOrder",
    "MalformedBinding",
    "OrderFailed",
    "OrderProcess",
    "OrderState",
    "PendingOrder",
    "ProblemDocument",
    "Proof",
    "Responder",
    "Solver",
    "Ticket",
    "WebhookSolver",
    "acme_issuer",
    "app",
    "identifiers",
    "retry_after",
]
