"""A configuration file, read strictly: a key that is not known is an error.

A part of Gardener's program that this one does not have is an error where the file enables it, and
otherwise a warning.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from certwright.apply import read_text
from certwright.kube import JsonObject
from certwright.operators.managedresource.configuration.decode import (
    ConfigurationError,
    ConfigurationProblem,
    decode,
    value_at,
    without,
)
from certwright.operators.managedresource.configuration.settings import Configuration
from certwright.operators.managedresource.configuration.validation import validate

API_VERSION: Final = "resourcemanager.config.gardener.cloud/v1alpha1"
KIND: Final = "ResourceManagerConfiguration"

_ABSENT: Final = (
    "controllers.csrApprover",
    "controllers.istioClusterConfiguration",
    "controllers.networkPolicy",
    "controllers.nodeAgentReconciliationDelay",
    "controllers.nodeCriticalComponents",
    "controllers.nodeHighAvailabilityConfig",
    "webhooks",
)
"""Parts of Gardener's program that this one does not have."""
_WITHOUT_EFFECT: Final = (
    "controllers.cacheSyncTimeout",
    "debugging",
    "server.webhooks",
    *(
        f"{connection}.{name}"
        for connection in ("sourceClientConnection", "targetClientConnection")
        for name in ("qps", "burst", "acceptContentTypes", "contentType", "cacheResyncPeriod")
    ),
)
"""What is read and checked, and changes nothing."""


@dataclass(frozen=True, slots=True)
class LoadedConfiguration:
    """A configuration that can be used, and what should be corrected in it all the same."""

    configuration: Configuration
    warnings: tuple[ConfigurationProblem, ...]


def read_file(content: str | bytes, source: str) -> JsonObject:
    """Return the document in a file; `ConfigurationError` if it is not one in YAML of our kind."""
    manifests = read_text(content, source)
    if manifests.errors:
        raise ConfigurationError(
            ConfigurationProblem(str(error.origin), error.problem) for error in manifests.errors
        )
    documents = manifests.objects
    if len(documents) != 1:
        problem = ConfigurationProblem(source, f"has {len(documents)} documents, not one")
        raise ConfigurationError([problem])
    document = documents[0].obj
    expected = {"apiVersion": API_VERSION, "kind": KIND}
    wrong = [
        ConfigurationProblem(name, f"must be {value}")
        for name, value in expected.items()
        if document.get(name) != value
    ]
    if wrong:
        raise ConfigurationError(wrong)
    return document


def load(document: Mapping[str, Any]) -> LoadedConfiguration:
    """Return the configuration in a document; an empty one gives the defaults.

    Raises:
        ConfigurationError: with every problem there is, each with its path.
    """
    content = {name: part for name, part in document.items() if name not in {"apiVersion", "kind"}}
    content, refused, warnings = _without_absent(content)
    content, renamed = _with_the_right_key(content)
    configuration, problems = decode(content)
    if problems := [*refused, *problems, *validate(configuration)]:
        raise ConfigurationError(problems)
    return LoadedConfiguration(configuration, (*warnings, *renamed, *_without_effect(content)))


def _without_absent(
    content: JsonObject,
) -> tuple[JsonObject, list[ConfigurationProblem], list[ConfigurationProblem]]:
    """Take out the parts that this program does not have; the file may rely on enabled ones."""
    refused, warnings = [], []
    for path in _ABSENT:
        names = path.split(".")
        found = value_at(content, names)
        if found is None:
            continue
        if _is_enabled(found):
            problem = "is enabled, and this program does not have it"
            refused.append(ConfigurationProblem(path, problem))
        else:
            problem = "has no effect: this program does not have it"
            warnings.append(ConfigurationProblem(path, problem))
        content = without(content, names)
    return content, refused, warnings


def _with_the_right_key(content: JsonObject) -> tuple[JsonObject, list[ConfigurationProblem]]:
    """Rename ``managedResources``, as Gardener's chart writes it; the right key wins."""
    controllers = content.get("controllers")
    if not isinstance(controllers, dict) or "managedResources" not in controllers:
        return content, []
    old, new = controllers["managedResources"], controllers.get("managedResource")
    both = {**old, **new} if isinstance(old, dict) and isinstance(new, dict) else old
    renamed = {**without(controllers, ["managedResources"]), "managedResource": both}
    warning = ConfigurationProblem(
        "controllers.managedResources", "is read as 'managedResource'; please rename it"
    )
    return {**content, "controllers": renamed}, [warning]


def _without_effect(content: JsonObject) -> Iterator[ConfigurationProblem]:
    for path in _WITHOUT_EFFECT:
        if value_at(content, path.split(".")) is not None:
            yield ConfigurationProblem(path, "has no effect")


def _is_enabled(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return value.get("enabled") is True or any(map(_is_enabled, value.values()))
