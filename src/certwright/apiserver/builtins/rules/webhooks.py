"""Rules of webhook configurations."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

from certwright import pki
from certwright.apiserver.builtins.rules.checks import (
    one_of,
    qualified_name,
    selector_causes,
    subdomain_name,
)
from certwright.apiserver.causes import duplicate_value, invalid_value, required, too_many
from certwright.apiserver.cel.conditions import condition_problem
from certwright.kube.errors import Cause
from certwright.kube.names import dns_subdomain_problems
from certwright.kube.objects import JsonObject
from certwright.pki.pem import BUNDLE_LIMIT

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_AUTHORITIES_LIMIT: Final = 1000
_CONDITIONS_LIMIT: Final = 64
_EXCLUSIVE: Final = {
    "operations": "operations",
    "apiGroups": "API groups",
    "apiVersions": "API versions",
    "resources": "resources",
}


def validate_webhooks(new: JsonObject, _old: JsonObject | None) -> list[Cause]:
    """Check that each webhook can be called, and has rules."""
    causes: list[Cause] = []
    names: set[str] = set()
    for index, hook in enumerate(new.get("webhooks") or ()):
        path, name = f"webhooks[{index}]", hook.get("name") or ""
        where = f"{path}.name"
        causes += subdomain_name(name, where) if name else [required(where)]
        if name and len(name.split(".")) < 3:
            why = "should be a domain with at least three segments separated by dots"
            causes.append(invalid_value(where, name, why))
        if name in names:
            causes.append(duplicate_value(where, name))
        names.add(name)
        causes += _webhook_causes(hook, path)
    return causes


def _webhook_causes(hook: JsonObject, path: str) -> list[Cause]:
    versions = hook.get("admissionReviewVersions") or []
    causes: list[Cause] = []
    if not versions:
        why = "must specify one of v1, v1beta1"
        causes.append(required(f"{path}.admissionReviewVersions", why))
    elif not set(versions) & {"v1", "v1beta1"}:
        why = "must include at least one of v1, v1beta1"
        causes.append(invalid_value(f"{path}.admissionReviewVersions", versions, why))
    for position, rule in enumerate(hook.get("rules") or ()):
        causes += _rule_causes(rule, f"{path}.rules[{position}]")
    causes += one_of(hook["failurePolicy"], ("Fail", "Ignore"), f"{path}.failurePolicy")
    causes += one_of(hook["matchPolicy"], ("Equivalent", "Exact"), f"{path}.matchPolicy")
    if hook.get("sideEffects") is None:
        causes.append(required(f"{path}.sideEffects", "must specify one of None, NoneOnDryRun"))
    else:
        effects = ("None", "NoneOnDryRun")
        causes += one_of(hook["sideEffects"], effects, f"{path}.sideEffects")
    again = ("IfNeeded", "Never")
    causes += one_of(hook.get("reinvocationPolicy"), again, f"{path}.reinvocationPolicy")
    if not 1 <= hook["timeoutSeconds"] <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        causes.append(invalid_value(f"{path}.timeoutSeconds", hook["timeoutSeconds"], why))
    for field in ("namespaceSelector", "objectSelector"):
        causes += selector_causes(hook[field], f"{path}.{field}")
    causes += _condition_causes(hook.get("matchConditions") or [], f"{path}.matchConditions")
    return causes + client_causes(hook["clientConfig"], f"{path}.clientConfig")


def _condition_causes(conditions: list[JsonObject], path: str) -> Iterator[Cause]:
    if len(conditions) > _CONDITIONS_LIMIT:
        yield too_many(path, len(conditions), _CONDITIONS_LIMIT)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        where, text = f"{path}[{index}]", condition.get("expression") or ""
        if not text.strip():
            yield required(f"{where}.expression")
        elif problem := condition_problem(text):
            yield invalid_value(f"{where}.expression", text, problem)
        name = condition.get("name") or ""
        yield from qualified_name(name, f"{where}.name") if name else [required(f"{where}.name")]
        if name and name in names:
            yield duplicate_value(f"{where}.name", name)
        names.add(name)


def client_causes(config: JsonObject, path: str) -> list[Cause]:
    """Return what is wrong with the address of a webhook."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return list(_url_causes(url, f"{path}.url"))
    return list(_service_causes(service or {}, f"{path}.service"))


def _url_causes(url: str, path: str) -> Iterator[Cause]:
    form = "; desired format: https://host[/path]"
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{form}")
        return
    if parts.scheme != "https":
        yield invalid_value(path, parts.scheme, f"'https' is the only allowed URL scheme{form}")
    if not parts.netloc:
        yield invalid_value(path, "", f"host must be specified{form}")
    user, separator, _ = parts.netloc.rpartition("@")
    if separator:
        yield invalid_value(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid_value(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid_value(path, parts.query, "query parameters are not permitted in the URL")


def _service_causes(service: JsonObject, path: str) -> Iterator[Cause]:
    # The server mixes the two up: a missing name is reported as a missing namespace.
    for field, reported in (("namespace", "name"), ("name", "namespace")):
        if not service.get(field):
            yield required(f"{path}.{reported}")
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid_value(f"{path}.port", port, why)
    yield from _path_causes(service.get("path") or "/", f"{path}.path")


def _path_causes(text: str, path: str) -> Iterator[Cause]:
    if text == "/":
        return
    if text == "//":
        yield invalid_value(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid_value(path, text, "must start with a '/'")
    for index, step in enumerate(text[1:].removesuffix("/").split("/")):
        if not step:
            yield invalid_value(path, text, f"segment[{index}] may not be empty")
            continue
        for problem in dns_subdomain_problems(step):
            yield invalid_value(path, text, f"segment[{index}]: {problem}")


def authority_causes(config: JsonObject, path: str) -> list[Cause]:
    """Return what is wrong with the caBundle of a webhook; an empty one is the system's."""
    bundle = config.get("caBundle")
    if not bundle:
        return []
    try:
        pki.read_certificates(b64decode(bundle), limit=BUNDLE_LIMIT, at_most=_AUTHORITIES_LIMIT)
    except (ValueError, pki.PkiError):
        why = "unable to load root certificates: unable to parse bytes as PEM block"
        return [invalid_value(path, bundle, why)]
    return []


def _rule_causes(rule: JsonObject, path: str) -> Iterator[Cause]:
    for field in _EXCLUSIVE:
        if not rule.get(field):
            yield required(f"{path}.{field}")
    for index, operation in enumerate(rule.get("operations") or ()):
        yield from one_of(operation, _OPERATIONS, f"{path}.operations[{index}]")
    for field, what in _EXCLUSIVE.items():
        values = rule.get(field) or []
        wildcard = "*/*" if "*/*" in values else "*"
        if len(values) > 1 and wildcard in values and (field != "resources" or wildcard == "*/*"):
            why = f"if '{wildcard}' is present, must not specify other {what}"
            yield invalid_value(f"{path}.{field}", values, why)
    yield from one_of(rule.get("scope"), ("*", "Cluster", "Namespaced"), f"{path}.scope")
