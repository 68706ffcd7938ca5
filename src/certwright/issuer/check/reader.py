"""Issuers and the Secrets they refer to, read from the stores.

Of Secrets only names and versions are watched: the data of those that issuers refer to is
read once per version, and that of all others never enters this process.
"""

from base64 import b64decode
from binascii import Error as NoBase64
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, field

from certwright.issuer.issuer import Issuer
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.run.memory import AppMemory
from certwright.issuer.spec import (
    Reference,
    SecretData,
    SecretKey,
    SecretKeyReference,
    SpecError,
    SpecType,
)
from certwright.issuer.status import READY
from certwright.kube import Condition, JsonObject, Key, NotFound, ObjectMeta, find_condition
from certwright.kube.kinds import Secret
from certwright.runtime import BadObject, Context, Entry

S = TypeVar("S")


class SecretMissing(LookupError):
    """A Secret that is referred to, or a key of it, does not exist or cannot be used."""


class _Status(Struct):
    conditions: list[Condition] | None = None


class IssuerRecord(Struct):
    """An issuer as the library needs it, whatever its spec is."""

    metadata: ObjectMeta
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: _Status = field(default_factory=_Status)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions of its status."""
        return tuple(self.status.conditions or ())

    @property
    def ready(self) -> Condition | None:
        """The condition that shows whether it can sign."""
        return find_condition(self.conditions, READY)


def read_issuer(at: IssuerKey, entry: Entry) -> IssuerRecord:
    """Return an issuer of a store; `BadObject` if it does not have the shape of an issuer."""
    entry.require_contents()
    try:
        return msgspec.json.decode(entry.raw, type=IssuerRecord)
    except msgspec.ValidationError as error:
        raise BadObject(f"{at.kind.kind} {at.key} cannot be read: {error}") from error


@dataclass(slots=True)
class _Held:
    """The data of a Secret, and the versions that have this data."""

    versions: set[str]
    data: SecretData


class SecretReader:
    """Reads Secrets, each once per version."""

    def __init__(self) -> None:
        self._held: dict[Key, _Held] = {}

    async def read(self, ctx: Context, key: Key) -> SecretData:
        """Return a Secret; `SecretMissing` if there is none."""
        entry = ctx.store(Secret).get(key)
        if entry is None:
            self._held.pop(key, None)
            raise SecretMissing(f'secret "{key}" not found')
        held = self._held.get(key)
        if held is not None and entry.meta.resource_version in held.versions:
            return held.data
        secret = await _fetch(ctx, key)
        data = SecretData(key.name, _decoded(key, secret.get("data") or {}))
        # The watch may be behind: its version and the one that was read both mean this data.
        versions = {entry.meta.resource_version, secret["metadata"]["resourceVersion"]}
        self._held[key] = _Held(versions, data)
        return data

    def known(self, key: Key) -> SecretData:
        """Return a Secret that was read before; `SecretMissing` if it was not."""
        held = self._held.get(key)
        if held is None:
            raise SecretMissing(f'secret "{key}" not found')
        return held.data

    def forget(self, key: Key) -> None:
        """Forget a Secret that no issuer refers to any more."""
        self._held.pop(key, None)


async def _fetch(ctx: Context, key: Key) -> JsonObject:
    try:
        return await ctx.client.get(Secret, key)
    except (NotFound, ValueError):  # or it has a name that no object can have
        raise SecretMissing(f'secret "{key}" not found') from None


def _decoded(key: Key, data: dict[str, Any]) -> dict[str, bytes]:
    try:
        return {name: b64decode(text) for name, text in data.items()}
    except (NoBase64, TypeError, ValueError) as error:
        raise SecretMissing(f'secret "{key}" is not valid base64') from error


@dataclass(frozen=True, slots=True)
class IssuerReader(Generic[S]):
    """Makes the issuer that authors get from the object and its Secrets."""

    spec: SpecType[S]
    secrets: SecretReader
    memory: AppMemory
    issuer_type: type[Issuer[S]]
    cluster_resource_namespace: str
    reads_other_secrets: bool
    """Whether the author's code may read Secrets that the spec does not name."""

    async def read(self, ctx: Context, at: IssuerKey, record: IssuerRecord) -> Issuer[S]:
        """Return an issuer, references resolved; `SpecError` or `SecretMissing` if they cannot."""
        wire = self.spec.read(bytes(record.spec))
        namespace = at.key.namespace or self.cluster_resource_namespace
        for key in self._note(at, wire):
            await self.secrets.read(ctx, key)
        spec = self.spec.build(wire, lambda reference: self._resolved(namespace, reference))

        return self.issuer_type(
            kind=at.kind.kind,
            name=at.key.name,
            namespace=at.key.namespace,
            uid=record.metadata.uid,
            generation=record.metadata.generation,
            annotations=record.metadata.annotations,
            spec=spec,
            conditions=record.conditions,
            now=ctx.clock.now(),
            read_secret=lambda name: self.read_other_secret(ctx, Key(namespace, name)),
            offload=ctx.cpu,
        )

    async def read_other_secret(self, ctx: Context, key: Key) -> SecretData:
        """Read any Secret, without keeping it; `SecretMissing` if there is none.

        `TypeError` if the app does not say that it does so: the generated roles would not allow it,
        and that should not show in production only.
        """
        if not self.reads_other_secrets:
            raise TypeError(
                f'secret "{key}": this app reads no Secrets but those that the spec names;'
                " write IssuerApp(…, secrets=True)"
            )
        secret = await _fetch(ctx, key)
        return SecretData(key.name, _decoded(key, secret.get("data") or {}))

    def watch(self, at: IssuerKey, record: IssuerRecord) -> None:
        """Note what an issuer refers to, without reading it; nothing if its spec is invalid."""
        try:
            self._note(at, self.spec.read(bytes(record.spec)))
        except SpecError:
            return

    def _note(self, at: IssuerKey, wire: Struct) -> list[Key]:
        namespace = at.key.namespace or self.cluster_resource_namespace
        keys = {Key(namespace, reference.name) for reference in self.spec.references(wire)}
        for gone in self.memory.use(at, frozenset(keys)):
            self.secrets.forget(gone)
        return sorted(keys)

    def _resolved(self, namespace: str, reference: Reference) -> SecretKey | SecretData:
        data = self.secrets.known(Key(namespace, reference.name))
        if not isinstance(reference, SecretKeyReference):
            return data
        if reference.key not in data:
            raise SecretMissing(
                f'secret "{namespace}/{reference.name}" has no key "{reference.key}"'
            )
        try:
            return SecretKey(data[reference.key].decode().strip())
        except UnicodeDecodeError:
            raise SecretMissing(
                f'key "{reference.key}" of secret "{namespace}/{reference.name}" is not text'
            ) from None
