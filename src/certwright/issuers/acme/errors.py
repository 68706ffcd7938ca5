"""What may go wrong with an ACME server."""

from datetime import timedelta

from certwright.issuers.acme.messages import Problem


class AcmeError(Exception):
    """The server does not behave as RFC 8555 says."""


class AcmeRefused(AcmeError):
    """The server answered with a problem document."""

    def __init__(self, what: str, code: int, problem: Problem, wait: timedelta | None) -> None:
        super().__init__(f"the ACME server refused {what}: {problem}")
        self.code = code
        """Of HTTP."""
        self.problem = problem
        self.wait = wait
        """How long the server wants to be left alone, if it said so."""


class OrderFailed(AcmeError):
    """The order is lost: a name was not proven, or the server gave up. Only a new one helps."""
