"""Requests tokens of ServiceAccounts, stores them in Secrets, and renews them in time.

::

    Manager(client, [token_requestor()])

==================  =============================================================
`wishes`            what a Secret asks for, read from its annotations
`renewal`           when a token is renewed
`contents`          where the token is in a Secret, or in the `kubeconfig` there
`objects`           what is kept in the target cluster
`target`            the target cluster: stores, writes, tokens
`controller`        reconciles one Secret
`wiring`            all of it as an operator
==================  =============================================================
"""

from certwright.operators.tokenrequestor.controller import FINALIZER, TokenRequestor
from certwright.operators.tokenrequestor.kubeconfig import KubeconfigError
from certwright.operators.tokenrequestor.operator import token_requestor
from certwright.operators.tokenrequestor.request import Wish, WishError, read_wish
from certwright.operators.tokenrequestor.target import Target

__all__ = [
    "FINALIZER",
    "KubeconfigError",
    "Target",
    "TokenRequestor",
    "Wish",
    "WishError",
    "read_wish",
    "token_requestor",
]
