"""What a CustomResourceDefinition may say about its versions: conversion and deprecation."""

from collections.abc import Iterable, Iterator
from typing import Final

from certwright.apiserver.builtins.rules.checks import one_of
from certwright.apiserver.builtins.rules.webhooks import authority_causes, client_causes
from certwright.apiserver.causes import forbidden_value, invalid_value, required
from certwright.apiserver.crds.status import is_established
from certwright.kube.errors import Cause
from certwright.kube.names import dns1035_label_problems
from certwright.kube.objects import JsonObject

_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_WARNING_LIMIT: Final = 256
_CLIENT: Final = "spec.conversion.webhookClientConfig"
_VERSIONS: Final = "spec.conversion.conversionReviewVersions"
"""The server names the fields as they were called before ``webhook`` held them."""


def conversion_causes(conversion: JsonObject, old: JsonObject | None) -> Iterator[Cause]:
    """Yield what is wrong with ``spec.conversion``; *old* is the definition that is there."""
    strategy, path = conversion.get("strategy") or "", "spec.conversion.strategy"
    choices = ("None", "Webhook")
    yield from one_of(strategy, choices, path) if strategy else [required(path)]
    webhook = conversion.get("webhook") or {}
    config = webhook.get("clientConfig")
    versions = webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        if config is not None:
            yield forbidden_value(_CLIENT, why)
        if versions:
            yield forbidden_value(_VERSIONS, why)
        return
    if config is None:
        yield required(_CLIENT, "required when strategy is set to Webhook")
    else:
        yield from client_causes(config, _CLIENT)
        if not _tolerates_authority(old):
            yield from authority_causes(config, f"{_CLIENT}.caBundle")
    yield from _review_causes(versions, old)


def _webhook_of(definition: JsonObject | None) -> JsonObject:
    conversion = ((definition or {}).get("spec") or {}).get("conversion") or {}
    webhook: JsonObject = conversion.get("webhook") or {}
    return webhook


def _tolerates_authority(old: JsonObject | None) -> bool:
    """Return whether a caBundle may be broken: before the kind is served, or if it was already."""
    if old is None or not is_established(old):
        return True
    return bool(authority_causes(_webhook_of(old).get("clientConfig") or {}, ""))


def _review_causes(versions: list[str], old: JsonObject | None) -> Iterator[Cause]:
    if not versions:
        yield required(_VERSIONS)
        return
    for index, version in enumerate(versions):
        where = f"{_VERSIONS}[{index}]"
        if version in versions[:index]:
            yield invalid_value(where, version, "duplicate version")
            continue
        for problem in dns1035_label_problems(version):
            yield invalid_value(where, version, problem)
    before = _webhook_of(old).get("conversionReviewVersions") or []
    if not _is_understood(versions) and (not before or _is_understood(before)):
        why = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        yield invalid_value(_VERSIONS, versions, why)


def _is_understood(versions: Iterable[str]) -> bool:
    return any(version in _REVIEW_VERSIONS for version in versions)


def deprecation_causes(version: JsonObject, path: str) -> Iterator[Cause]:
    """Yield what is wrong with the warning of a version."""
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    if not version.get("deprecated"):
        yield invalid_value(path, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > _WARNING_LIMIT:
        yield invalid_value(path, warning, f"must be <= {_WARNING_LIMIT} characters long")
    if not warning:
        yield invalid_value(path, warning, "must not be an empty string")
    for index, char in enumerate(warning):
        if not char.isprintable():
            position = len(warning[:index].encode())
            why = (
                "must only contain printable UTF-8 characters; non-printable character found at "
                f"index {position}"
            )
            yield invalid_value(path, warning, why)
            return
