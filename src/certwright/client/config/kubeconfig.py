"""Kubeconfig files: read, checked and merged as kubectl merges them.

The first file that names a context, cluster or user wins, as does the first that sets
``current-context``. Messages name the file and the field and never quote what stands there,
because it may be a secret.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import yaml

from certwright.client.config.config import InteractiveMode
from certwright.client.errors import ConfigError

SIZE_LIMIT = 16 * 2**20
"""A larger file is not a kubeconfig but a mistake."""
DEPTH_LIMIT = 64


class ExtensionEntry(msgspec.Struct):
    """Data that programs attach to an entry."""

    name: str
    extension: Any = None


class ClusterEntry(msgspec.Struct, rename="kebab"):
    """A server and the authorities to trust there."""

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[ExtensionEntry] = []


class VariableEntry(msgspec.Struct):
    """An environment variable of an exec plugin."""

    name: str
    value: str = ""


class ExecEntry(msgspec.Struct, rename="camel"):
    """A program that prints credentials."""

    command: str
    api_version: str = ""
    args: list[str] = []
    env: list[VariableEntry] = []
    interactive_mode: InteractiveMode | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False


class UserEntry(msgspec.Struct, rename="kebab"):
    """What to authenticate with."""

    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    password: str = ""
    exec: ExecEntry | None = None
    auth_provider: Any = None
    as_: str = msgspec.field(default="", name="as")
    as_uid: str = ""
    as_groups: list[str] = []
    as_user_extra: dict[str, list[str]] = {}


class ContextEntry(msgspec.Struct):
    """A cluster, a user and a namespace under one name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: ClusterEntry = msgspec.field(default_factory=ClusterEntry)


class _NamedUser(msgspec.Struct):
    name: str
    user: UserEntry = msgspec.field(default_factory=UserEntry)


class _NamedContext(msgspec.Struct):
    name: str
    context: ContextEntry = msgspec.field(default_factory=ContextEntry)


class _File(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []


Entry = TypeVar("Entry")


@dataclass(frozen=True, slots=True)
class Found(Generic[Entry]):
    """An entry and the file it stands in, which relative paths refer to."""

    file: Path
    entry: Entry


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """The entries of several files, merged."""

    files: tuple[Path, ...]
    current_context: str
    contexts: dict[str, Found[ContextEntry]]
    clusters: dict[str, Found[ClusterEntry]]
    users: dict[str, Found[UserEntry]]


def read(paths: Sequence[Path]) -> Kubeconfig:
    """Read and merge kubeconfig files; `ConfigError` if one is missing or not a kubeconfig."""
    merged = Kubeconfig(tuple(paths), "", {}, {}, {})
    current = ""
    for path in paths:
        document = _read_file(path)
        current = current or document.current_context
        _merge(merged.contexts, path, "context", ((c.name, c.context) for c in document.contexts))
        _merge(merged.clusters, path, "cluster", ((c.name, c.cluster) for c in document.clusters))
        _merge(merged.users, path, "user", ((u.name, u.user) for u in document.users))
    return Kubeconfig(merged.files, current, merged.contexts, merged.clusters, merged.users)


def _merge(
    merged: dict[str, Found[Entry]], path: Path, what: str, entries: Iterable[tuple[str, Entry]]
) -> None:
    seen: set[str] = set()
    for name, entry in entries:
        if name in seen:
            raise ConfigError(f"{path}: {what} {name!r} is defined twice; remove one of them")
        seen.add(name)
        merged.setdefault(name, Found(path, entry))


def _read_file(path: Path) -> _File:
    try:
        with path.open("rb") as file:
            content = file.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); check the path and its permissions"
        ) from error
    if len(content) > SIZE_LIMIT:
        raise ConfigError(
            f"{path}: larger than {SIZE_LIMIT} bytes, which is not a kubeconfig; correct the path"
        )
    try:
        _check_structure(path, content)
        document = yaml.load(content, Loader=_LOADER)  # noqa: S506 - a safe loader either way
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f" in line {mark.line + 1}" if mark else ""
        # Not chained: the original quotes the line, which may hold a key.
        raise ConfigError(f"{path}: not valid YAML{line}: {error.problem}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise ConfigError(f"{path}: not valid YAML; is it a kubeconfig at all?") from None
    if document is None:
        return _File()
    _drop_nulls(document)
    try:
        return msgspec.convert(document, _File)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{path}: not a valid kubeconfig: {error}; correct the field (quote it if it is "
            "meant to be text)"
        ) from None


def _check_structure(path: Path, content: bytes) -> None:
    """Refuse content that would cost more than its size, before anything is built from it.

    The loader recurses (in C: until the stack is gone), and aliases of aliases multiply.
    """
    anchors: list[str | None] = []
    for event in yaml.parse(content, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            anchors.append(event.anchor)
            if len(anchors) > DEPTH_LIMIT:
                raise ConfigError(
                    f"{path}: nested deeper than {DEPTH_LIMIT} levels; correct the file"
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            anchors.pop()
        elif isinstance(event, yaml.AliasEvent) and any(anchors):
            raise ConfigError(f"{path}: has YAML aliases within aliases; write them out")


_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _drop_nulls(document: Any) -> None:
    """Remove keys without a value: kubectl itself writes ``users: null`` for an empty list."""
    pending, seen = [document], set()
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            for key in [key for key, held in value.items() if held is None]:
                del value[key]
            pending += value.values()
        elif isinstance(value, list):
            pending += value
