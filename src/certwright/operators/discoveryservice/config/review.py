"""Refuses at admission what could not be served: the same checks, before it is stored."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec

from certwright.api.envoyconfigs import EnvoyConfig
from certwright.kube.errors import Cause
from certwright.operators.discoveryservice.config.assembly import check
from certwright.operators.discoveryservice.config.content import read_content
from certwright.webhook import AdmissionHandler, AdmissionReview, Allow, Decision, Deny, intercept
from certwright.xds.schema.errors import ResourceRefused
from certwright.xds.schema.schema import MessageSchema

NAME: Final = "envoyconfig.marin3r.3scale.net"


def review_config(schema: MessageSchema, review: AdmissionReview) -> Decision:
    """Decide about an EnvoyConfig; a refusal names each field.

    What leaves the spec as it is passes: a configuration that a newer schema refuses must still be
    labelled, and released for deletion.
    """
    if review.operation == "UPDATE" and review.obj().get("spec") == review.old().get("spec"):
        return Allow()
    try:
        config = msgspec.convert(review.obj(), EnvoyConfig)
    except msgspec.ValidationError as error:
        return Deny(f"the EnvoyConfig cannot be read: {error}", code=422, reason="Invalid")
    try:
        check(schema, read_content(config.spec, review.namespace))
    except ResourceRefused as refused:
        causes = [
            Cause(reason="FieldValueInvalid", message=one.problem, field=one.path)
            for one in refused.problems
        ]
        message = "; ".join(map(str, refused.problems))
        return Deny(f"Envoy would not take it: {message}", 422, "Invalid", causes)
    return Allow()


def config_webhook(schema: Callable[[], MessageSchema], path: str = "") -> AdmissionHandler:
    """Return the webhook that reviews EnvoyConfigs, under its own path or another."""

    async def review(request: AdmissionReview) -> Decision:
        if request.operation == "DELETE":
            return Allow()
        return await asyncio.to_thread(review_config, schema(), request)

    return AdmissionHandler(NAME, review, [intercept(EnvoyConfig, "CREATE", "UPDATE")], path=path)
