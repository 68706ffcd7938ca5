"""Rules of webhook configurations."""

from collections.abc import Iterator
from typing import Final

from certwright.apiserver.builtins.rules.checks import one_of, selector_causes, subdomain_name
from certwright.apiserver.causes import duplicate_value, invalid_value, required
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
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
    return causes + _client_causes(hook["clientConfig"], f"{path}.clientConfig")


def _client_causes(config: JsonObject, path: str) -> list[Cause]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    causes: list[Cause] = []
    if url is not None and not url.startswith("https://"):
        scheme = url.partition("://")[0] if "://" in url else ""
        why = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
        causes.append(invalid_value(f"{path}.url", scheme, why))
    if service is not None:
        missing = [field for field in ("name", "namespace") if not service.get(field)]
        causes += [required(f"{path}.service.{field}") for field in missing]
    return causes


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
