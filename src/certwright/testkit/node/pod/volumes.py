"""The files of a pod's volumes: from its spec and the objects it refers to, to contents and modes.

`volume_needs` says what must be read first, `volume_files` what the volume then holds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from certwright.kube import JsonObject
from certwright.testkit.node.pod.environment import (
    ContainerConfigError,
    ObjectRead,
    Objects,
    PodAddress,
    container_resource,
    pod_field,
)

ACCOUNT_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where every client library looks for the pod's own credentials."""
_DEFAULT_MODE: Final = 0o644
_TOKEN_SECONDS: Final = 3600
_MADE: Final = ("secret", "configMap", "downwardAPI", "projected")
_SUPPORTED: Final = (*_MADE, "emptyDir")


class VolumeError(ValueError):
    """A volume cannot be made; the message is the one of the event."""


@dataclass(frozen=True, slots=True)
class TokenNeed:
    """A token of the pod's ServiceAccount that a volume holds."""

    audience: str
    seconds: int


@dataclass(frozen=True, slots=True, repr=False)
class FileContent:
    """What a file of a volume holds; no repr, because that may be secret."""

    content: bytes
    mode: int = _DEFAULT_MODE


Tokens = Mapping[TokenNeed, str]


def pod_volumes(pod: JsonObject, *, credentials: bool) -> list[JsonObject]:
    """Return the volumes of a pod; with its own *credentials*, even if no admission added them."""
    volumes: list[JsonObject] = list(pod["spec"].get("volumes") or ())
    if credentials and _lacks_credentials(pod):
        volumes.append(account_volume())
    return volumes


def container_mounts(
    pod: JsonObject, container: JsonObject, *, credentials: bool
) -> list[JsonObject]:
    """Return where a container has its volumes, and its own *credentials*."""
    mounts: list[JsonObject] = list(container.get("volumeMounts") or ())
    if credentials and _lacks_credentials(pod):
        mounts.append({"name": account_volume()["name"], "mountPath": ACCOUNT_FOLDER})
    return mounts


def account_volume() -> JsonObject:
    """Return the volume by which a pod reaches the API as its ServiceAccount."""
    sources: list[JsonObject] = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {
            "configMap": {
                "name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}],
                "optional": True,
            }
        },
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]
            }
        },
    ]
    return {"name": "kube-api-access-node", "projected": {"sources": sources}}


def _lacks_credentials(pod: JsonObject) -> bool:
    spec = pod["spec"]
    if spec.get("automountServiceAccountToken") is False or not spec.get("serviceAccountName"):
        return False  # a token is bound to a pod of that ServiceAccount
    return not any(
        mount["mountPath"] == ACCOUNT_FOLDER
        for container in (*(spec.get("initContainers") or ()), *spec["containers"])
        for mount in container.get("volumeMounts") or ()
    )


def volume_type(volume: JsonObject) -> str:
    """Return what kind of volume it is; `VolumeError` if this node has no such."""
    for name in _SUPPORTED:
        if volume.get(name) is not None:
            return name
    given = next((name for name in volume if name != "name"), "")
    if not given:
        return "emptyDir"
    raise VolumeError(f"no volume plugin matched: {given} is not available on this node")


def volume_needs(volume: JsonObject) -> Iterator[ObjectRead | TokenNeed]:
    """Yield what must be read before the files of a volume are known."""
    for source in _sources(volume):
        if secret := source.get("secret"):
            yield ObjectRead("Secret", secret.get("secretName") or secret.get("name") or "")
        elif config := source.get("configMap"):
            yield ObjectRead("ConfigMap", config.get("name") or "")
        elif token := source.get("serviceAccountToken"):
            yield _token_need(token)


def volume_files(
    volume: JsonObject, pod: JsonObject, objects: Objects, tokens: Tokens, address: PodAddress
) -> dict[str, FileContent]:
    """Return the files of a volume by their paths; `VolumeError` if something is missing."""
    files: dict[str, FileContent] = {}
    default = _default_mode(volume)
    for source in _sources(volume):
        for path, content, mode in _source_files(source, pod, objects, tokens, address):
            _check_path(path)
            files[path] = FileContent(content, default if mode is None else mode)
    return files


def _sources(volume: JsonObject) -> list[JsonObject]:
    if "projected" in volume:
        return list(volume["projected"].get("sources") or ())
    return [{name: volume[name]} for name in _MADE if volume.get(name) is not None]


def _default_mode(volume: JsonObject) -> int:
    for name in _MADE:
        if volume.get(name) is not None:
            mode = volume[name].get("defaultMode")
            return _DEFAULT_MODE if mode is None else int(mode)
    return _DEFAULT_MODE


def _source_files(
    source: JsonObject, pod: JsonObject, objects: Objects, tokens: Tokens, address: PodAddress
) -> Iterator[tuple[str, bytes, int | None]]:
    if secret := source.get("secret"):
        yield from _object_files("Secret", secret, pod, objects)
    elif config := source.get("configMap"):
        yield from _object_files("ConfigMap", config, pod, objects)
    elif token := source.get("serviceAccountToken"):
        yield token["path"], tokens[_token_need(token)].encode(), 0o600
    elif (downward := source.get("downwardAPI")) is not None:
        for item in downward.get("items") or ():
            yield item["path"], _downward(item, pod, address).encode(), item.get("mode")


def _object_files(
    kind: str, source: JsonObject, pod: JsonObject, objects: Objects
) -> Iterator[tuple[str, bytes, int | None]]:
    name = source.get("secretName") or source.get("name") or ""
    content = objects[ObjectRead(kind, name)]
    optional = bool(source.get("optional"))
    if content is None:
        if optional:
            return
        where = f"{pod['metadata']['namespace']}/{name}" if "sources" in source else name
        raise VolumeError(f'{kind.lower()} "{where}" not found')
    items = source.get("items")
    if not items:
        yield from ((key, value, None) for key, value in content.items())
        return
    for item in items:
        key = item["key"]
        if key in content:
            yield item["path"], content[key], item.get("mode")
        elif not optional:
            raise VolumeError(_missing_key(kind, key))


def _missing_key(kind: str, key: str) -> str:
    if kind == "Secret":
        return f"references non-existent secret key: {key}"
    return f"configmap references non-existent config key: {key}"


def _downward(item: JsonObject, pod: JsonObject, address: PodAddress) -> str:
    try:
        if reference := item.get("fieldRef"):
            return pod_field(pod, reference["fieldPath"], address)
        return container_resource(pod, "", item["resourceFieldRef"])
    except ContainerConfigError as error:
        raise VolumeError(str(error)) from error


def _token_need(token: JsonObject) -> TokenNeed:
    return TokenNeed(token.get("audience") or "", token.get("expirationSeconds") or _TOKEN_SECONDS)


def _check_path(path: str) -> None:
    """Refuse paths that lead out of the volume; the API server does so, too."""
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise VolumeError(f"invalid path in volume: {path}")
