"""A spec as a list of what it declares, whichever way it is written."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson
from msgspec import UNSET, UnsetType

from certwright.api.envoyconfigs import ConfigResource, EnvoyResources
from certwright.apply.manifests.limits import Budget, ReadLimits
from certwright.apply.manifests.yamldocument import DocumentError, read_yaml
from certwright.kube import JsonObject, LabelSelector
from certwright.operators.discoveryservice.config.versions import ConfigSpec
from certwright.xds.schema.errors import FieldProblem, ResourceRefused
from certwright.xds.schema.references import (
    CLUSTER,
    ENDPOINTS,
    EXTENSION,
    LISTENER,
    ROUTES,
    RUNTIME,
    SCOPED_ROUTES,
    SECRET,
    WORDS,
)

LARGEST: Final = 2 << 20
"""Bytes of all resources of one configuration; an object in a cluster ends at 1.5 MiB."""
DEEPEST: Final = 80
_TYPES: Final = {word: name for name, word in WORDS.items()}
_LISTS: Final = {
    "endpoints": ENDPOINTS,
    "clusters": CLUSTER,
    "routes": ROUTES,
    "scoped_routes": SCOPED_ROUTES,
    "listeners": LISTENER,
    "runtimes": RUNTIME,
    "old_runtimes": RUNTIME,
    "extension_configs": EXTENSION,
}
_FIELDS: Final = {
    "scoped_routes": "scopedRoutes",
    "old_runtimes": "runtime",
    "extension_configs": "extensionConfigs",
}
_LIMITS: Final = ReadLimits(size=LARGEST, documents=1, depth=DEEPEST, expansion=LARGEST)


@dataclass(frozen=True, slots=True)
class DeclaredValue:
    """A resource that the spec writes out."""

    path: str
    type: str
    """The name of the message."""
    value: JsonObject


@dataclass(frozen=True, slots=True)
class SecretSource:
    """A resource that is made of a Secret of the same namespace."""

    path: str
    resource: str
    """The name of the resource."""
    secret: str
    key: str = ""
    """Of a Secret of type Opaque; of one of type kubernetes.io/tls empty."""
    validation: bool = False
    """Whether the certificate is one to trust, not one to show."""


@dataclass(frozen=True, slots=True)
class EndpointSource:
    """A resource that is made of the EndpointSlices of the same namespace."""

    path: str
    cluster: str
    selector: JsonObject
    port: str


@dataclass(frozen=True, slots=True)
class ConfigContent:
    """What a spec declares."""

    values: tuple[DeclaredValue, ...] = ()
    secrets: tuple[SecretSource, ...] = ()
    endpoints: tuple[EndpointSource, ...] = ()


def read_content(spec: ConfigSpec, namespace: str) -> ConfigContent:
    """Return what a spec of an object in *namespace* declares.

    Raises:
        ResourceRefused: a text cannot be read, a Secret is in another namespace, or it is too
            large; the problems name the fields.
    """
    problems = list(_form_problems(spec))
    found: list[DeclaredValue | SecretSource | EndpointSource] = []
    declared = (
        _from_lists(spec.envoy_resources, namespace, spec.serialization or "json")
        if spec.envoy_resources is not UNSET
        else _from_resources(spec.resources if spec.resources is not UNSET else [])
    )
    size = 0
    for one in declared if not problems else ():
        if isinstance(one, FieldProblem):
            problems.append(one)
            continue
        found.append(one)
        size += len(orjson.dumps(one.value)) if isinstance(one, DeclaredValue) else 0
        if size > LARGEST:
            problems.append(FieldProblem("spec", f"is larger than {LARGEST >> 20} MiB"))
            break
    if problems:
        raise ResourceRefused(problems)
    return ConfigContent(
        tuple(one for one in found if isinstance(one, DeclaredValue)),
        tuple(one for one in found if isinstance(one, SecretSource)),
        tuple(one for one in found if isinstance(one, EndpointSource)),
    )


def _form_problems(spec: ConfigSpec) -> Iterator[FieldProblem]:
    if (spec.envoy_resources is UNSET) == (spec.resources is UNSET):
        yield FieldProblem("spec", "exactly one of envoyResources and resources has to be set")
    if spec.envoy_api == "v2":
        yield FieldProblem("spec.envoyAPI", "v2 is not served; Envoy no longer knows it")


_Declared = DeclaredValue | SecretSource | EndpointSource | FieldProblem


def _from_lists(
    resources: EnvoyResources, namespace: str, serialization: str
) -> Iterator[_Declared]:
    for attribute, kind in _LISTS.items():
        field = _FIELDS.get(attribute, attribute)
        for index, one in enumerate(getattr(resources, attribute)):
            path = f"spec.envoyResources.{field}[{index}].value"
            yield _deserialized(one.value, serialization, kind, path)
    for index, secret in enumerate(resources.secrets):
        path = f"spec.envoyResources.secrets[{index}]"
        ref = secret.ref
        if isinstance(ref, UnsetType):
            yield SecretSource(path, secret.name, secret.name)
        elif ref.namespace not in {UNSET, "", namespace}:
            problem = "a Secret of another namespace cannot be read; copy it here"
            yield FieldProblem(f"{path}.ref.namespace", problem)
        else:
            yield SecretSource(f"{path}.ref", secret.name, ref.name)


def _deserialized(text: str, serialization: str, kind: str, path: str) -> _Declared:
    if len(text) > LARGEST:
        return FieldProblem(path, f"is larger than {LARGEST >> 20} MiB")
    try:
        value = _read_text(text, serialization)
    except DocumentError as error:
        return FieldProblem(path, f"is not valid YAML: {error.problem} in line {error.line}")
    except (orjson.JSONDecodeError, binascii.Error, UnicodeError, RecursionError):
        words = "base64 of valid JSON" if serialization == "b64json" else "valid JSON"
        return FieldProblem(path, f"is not {words}")
    if not isinstance(value, dict):
        return FieldProblem(path, "must be an object")
    return DeclaredValue(path, kind, value)


def _read_text(text: str, serialization: str) -> Any:
    match serialization:
        case "yaml":
            return read_yaml(text, Budget(_LIMITS))[0]
        case "b64json":
            return orjson.loads(base64.b64decode(text, validate=True))
        case _:
            return orjson.loads(text)


def _from_resources(resources: list[ConfigResource]) -> Iterator[_Declared]:
    for index, one in enumerate(resources):
        yield _resource(one, f"spec.resources[{index}]")


def _resource(one: ConfigResource, path: str) -> _Declared:
    kind = _TYPES[one.type]
    sources = {
        "value": one.value,
        "generateFromTlsSecret": one.generate_from_tls_secret,
        "generateFromOpaqueSecret": one.generate_from_opaque_secret,
        "generateFromEndpointSlices": one.generate_from_endpoint_slices,
    }
    given = [name for name, value in sources.items() if value is not UNSET]
    if len(given) != 1:
        return FieldProblem(path, f"exactly one of {', '.join(sources)} has to be set")
    if problem := _misplaced(one, kind, given[0]):
        return FieldProblem(f"{path}.{given[0]}", problem)
    if isinstance(one.generate_from_tls_secret, str):
        name = one.generate_from_tls_secret
        validation = one.blueprint == "validationContext"
        return SecretSource(f"{path}.generateFromTlsSecret", name, name, validation=validation)
    if not isinstance(opaque := one.generate_from_opaque_secret, UnsetType):
        name = opaque.alias or opaque.name
        return SecretSource(f"{path}.generateFromOpaqueSecret", name, opaque.name, opaque.key)
    if not isinstance(slices := one.generate_from_endpoint_slices, UnsetType):
        place = f"{path}.generateFromEndpointSlices"
        try:
            LabelSelector.from_spec(slices.selector)
        except ValueError as error:
            return FieldProblem(f"{place}.selector", str(error))
        return EndpointSource(place, slices.cluster_name, slices.selector, slices.target_port)
    assert isinstance(one.value, dict)
    return DeclaredValue(f"{path}.value", kind, one.value)


def _misplaced(one: ConfigResource, kind: str, given: str) -> str:
    """Return why a resource cannot be made this way; empty if it can."""
    if one.blueprint is not UNSET and given != "generateFromTlsSecret":
        return "blueprint is for generateFromTlsSecret only"
    if given == "value":
        return "keys belong into Secrets; use generateFromTlsSecret" if kind == SECRET else ""
    wanted = ENDPOINTS if given == "generateFromEndpointSlices" else SECRET
    return "" if kind == wanted else f"is for resources of type {WORDS[wanted]} only"
