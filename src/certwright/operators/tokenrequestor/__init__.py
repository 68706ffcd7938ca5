"""Requests tokens of ServiceAccounts, stores them in Secrets, and renews them in time.

Secrets whose annotations name a ServiceAccount enter (`request`); each gets a valid token where
`contents` finds its place, and the `target` cluster its ServiceAccounts. `controller` reconciles
one Secret, `operator` is all of it: ``Manager(client, [token_requestor()])``.
"""

from certwright.operators.tokenrequestor.controller import FINALIZER
from certwright.operators.tokenrequestor.operator import token_requestor

__all__ = ["FINALIZER", "token_requestor"]
