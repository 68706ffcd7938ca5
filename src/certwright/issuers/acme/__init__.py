"""Certificates from an ACME server (RFC 8555), such as Let's Encrypt.

``python -m certwright.issuers.acme --help`` says what it can do.

::

    jws  messages  client    the protocol
    solvers  responder       who proves that we hold a name
    orders                   from a request to a certificate, across restarts
    verbs  issuer            the issuer
"""

from certwright.issuers.acme.client import AcmeClient, Login, Told, retry_after
from certwright.issuers.acme.errors import AcmeError, AcmeRefused, OrderFailed
from certwright.issuers.acme.issuer import Spec, acme_issuer, app
from certwright.issuers.acme.jws import AccountKey, ExternalAccount, MalformedBinding
from certwright.issuers.acme.messages import Identifier, Problem
from certwright.issuers.acme.orders import Issued, Ordering, Ticket, Waiting, identifiers
from certwright.issuers.acme.responder import Responder
from certwright.issuers.acme.solvers import Proof, Solver, WebhookSolver

__all__ = [
    "AccountKey",
    "AcmeClient",
    "AcmeError",
    "AcmeRefused",
    "ExternalAccount",
    "Identifier",
    "Issued",
    "Login",
    "MalformedBinding",
    "OrderFailed",
    "Ordering",
    "Problem",
    "Proof",
    "Responder",
    "Solver",
    "Spec",
    "Ticket",
    "Told",
    "Waiting",
    "WebhookSolver",
    "acme_issuer",
    "app",
    "identifiers",
    "retry_after",
]
