"""Requests tokens of ServiceAccounts, stores them in Secrets, and renews them in time.

::

    Manager(client, [token_requestor()])

What enters are Secrets whose annotations name a ServiceAccount; what leaves is a valid token in
each of them, and the ServiceAccounts in the target cluster.

==================  =============================================================
`request`           what a Secret asks for, read from its annotations; when to renew
`contents`          where the token is in a Secret, or in the `kubeconfig` there
`target`            the target cluster: stores, what is kept there, tokens
`controller`        reconciles one Secret
`operator`          all of it as an operator
==================  =============================================================
"""

from certwright.operators.tokenrequestor.controller import FINALIZER
from certwright.operators.tokenrequestor.operator import token_requestor

__all__ = ["FINALIZER", "token_requestor"]
