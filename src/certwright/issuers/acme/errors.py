"""The errors of an ACME server."""

from datetime import timedelta

from certwright.issuers.acme.messages import ProblemDocument


class AcmeError(Exception):
    """The server does not behave as RFC 8555 demands."""


class AcmeRefused(AcmeError):
    """The server answered with a problem document."""

    def __init__(
        self, what: str, code: int, problem: ProblemDocument, wait: timedelta | None
    ) -> None:
        super().__init__(f"the ACME server refused {what}: {problem}")
        self.code = code
        """Of HTTP."""
        self.problem = problem
        self.wait = wait
        """How long to wait before the next request, if the server set a time."""


class OrderFailed(AcmeError):
    """The order is lost: a name was not proven, or the server gave up. Only a new one helps."""
