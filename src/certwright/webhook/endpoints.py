"""What is behind a path: the body of a review enters, the body of the answer leaves.

Here the functions of users are called, so here whatever they raise ends: it is logged without the
values of Secrets, and the API server is told that the webhook failed, so that the failure policy
of the configuration decides.
"""

import traceback
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple, Protocol

import msgspec
import orjson
import structlog

from certwright.kube import InternalError, JsonObject
from certwright.kube.redaction import without_values_of
from certwright.kube.reviews.admission import (
    AdmissionResponse,
    AdmissionReview,
    read_admission_review,
    write_admission_review,
)
from certwright.kube.reviews.conversion import (
    ConversionReview,
    conversion_problem,
    read_conversion_review,
    write_converted,
    write_not_converted,
)
from certwright.runtime.outcome import describe
from certwright.webhook.decisions import Decision, Deny, Patch, WrongDecision, respond
from certwright.webhook.declaration import AdmissionHandler, ConversionHandler, NotConverted

_log = structlog.get_logger()


class Answer(NamedTuple):
    """The body of an answer, and what became of the review, by a name of `metrics.RESULTS`."""

    body: bytes
    result: str


class ReviewEndpoint(Protocol):
    """Answers the reviews of one path."""

    path: str

    def answer(self, body: bytes, certificate: str) -> Answer | Awaitable[Answer]:
        """Answer a review that came over a connection with a certificate of this fingerprint.

        At once if nothing has to be waited for.

        Raises:
            ApiError: it is no review that is served here, or the handler failed.
        """
        ...


class AdmissionEndpoint:
    """Asks the function of a webhook, except about requests that are *exempt*: they may pass."""

    def __init__(
        self,
        webhook: AdmissionHandler,
        exempt: Callable[[AdmissionReview], bool] = lambda _request: False,
    ) -> None:
        self.path = webhook.path
        self._exempt = exempt
        self._webhook = webhook

    def answer(self, body: bytes, certificate: str) -> Answer | Awaitable[Answer]:  # noqa: ARG002 - a protocol
        """Answer an AdmissionReview."""
        request = read_admission_review(body)
        if self._exempt(request):
            return Answer(write_admission_review(_allowed(request)), "allowed")
        try:
            decided = self._webhook.review(request)
        except Exception as error:  # noqa: BLE001 - of the code of users
            raise self._failed(request, error) from None
        if isinstance(decided, Awaitable):
            return self._later(request, decided)
        return self._decided(request, decided)

    async def _later(self, request: AdmissionReview, deciding: Awaitable[Decision]) -> Answer:
        try:
            decision = await deciding
        except Exception as error:  # noqa: BLE001 - of the code of users
            raise self._failed(request, error) from None
        return self._decided(request, decision)

    def _decided(self, request: AdmissionReview, decision: Decision) -> Answer:
        try:
            response = respond(request, decision, mutating=self._webhook.mutating)
        except Exception as error:  # noqa: BLE001 - it depends on what users return
            raise self._failed(request, error) from None
        result = "allowed" if response.allowed else "denied"
        if isinstance(decision, Deny):
            self._log_denial(request, decision)
        elif isinstance(decision, Patch):
            result = "patched"
        return Answer(write_admission_review(response), result)

    def _log_denial(self, request: AdmissionReview, denied: Deny) -> None:
        _log.info(
            "review denied",
            webhook=self._webhook.name,
            **_facts(request),
            user=request.user_info.username,
            code=denied.code,
            message=_without_secrets(denied.message, request),
        )

    def _failed(self, request: AdmissionReview, error: Exception) -> InternalError:
        _log.error(
            "review failed",
            webhook=self._webhook.name,
            **_facts(request),
            error=_without_secrets(describe(error), request),
            at=_place(error),
        )
        return InternalError(
            f"webhook {self._webhook.name} failed to review {request.operation} of "
            f"{request.kind.kind} {request.key}: {type(error).__name__}; see its log"
        )


class ConversionEndpoint:
    """Asks the function of a conversion webhook."""

    def __init__(self, webhook: ConversionHandler) -> None:
        self.path = webhook.path
        self._convert = webhook.convert

    def answer(self, body: bytes, certificate: str) -> Answer:  # noqa: ARG002 - a protocol
        """Answer a ConversionReview."""
        request = read_conversion_review(body)
        try:
            converted = self._convert(request.decoded(), request.desired_api_version)
            if isinstance(converted, NotConverted):
                _log.info("conversion failed", webhook=self.path, error=converted.message)
                return Answer(write_not_converted(request, converted.message), "denied")
            return self._converted(request, converted)
        except Exception as error:  # noqa: BLE001 - of the code of users
            _log.error(
                "conversion crashed",
                webhook=self.path,
                version=request.desired_api_version,
                error=describe(error),
                at=_place(error),
            )
            message = f"the conversion webhook {self.path} failed: {type(error).__name__}"
        return Answer(write_not_converted(request, message), "failed")

    def _converted(self, request: ConversionReview, objects: Sequence[JsonObject]) -> Answer:
        problem = conversion_problem(request.decoded(), objects, request.desired_api_version)
        if problem:
            raise WrongDecision(problem)
        return Answer(write_converted(request, objects), "converted")


def _allowed(request: AdmissionReview) -> AdmissionResponse:
    return AdmissionResponse(uid=request.uid, allowed=True)


def _facts(request: AdmissionReview) -> dict[str, str]:
    return {
        "operation": request.operation,
        "kind": request.kind.kind,
        "key": str(request.key),
        "uid": request.uid,
    }


def _without_secrets(text: str, request: AdmissionReview) -> str:
    if request.kind.kind != "Secret":
        return text
    for raw in (request.raw_object, request.raw_old_object):
        text = without_values_of(text, _secret(raw))
    return text


def _secret(raw: msgspec.Raw) -> JsonObject:
    """Return what is known of a Secret, whatever a client wrote in its place."""
    try:
        found = orjson.loads(memoryview(raw))
    except orjson.JSONDecodeError:
        return {}
    return {**found, "apiVersion": "v1", "kind": "Secret"} if isinstance(found, dict) else {}


def _place(error: Exception) -> str:
    """Return where an exception was raised, without the source line: it may quote a value."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno} {frames[-1].name}" if frames else ""
