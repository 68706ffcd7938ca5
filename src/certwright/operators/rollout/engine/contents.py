"""What is kept of a Secret or ConfigMap: digests of its values, never the values.

The reduction happens where an object is received, so that the contents of Secrets stay in memory no
longer than it takes to decode them. Of an object that no workload consumes not even digests are
made.
"""

import binascii
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec
import orjson
from msgspec import Struct

from certwright.kube import JsonObject
from certwright.kube.objects import exact_json
from certwright.operators.rollout.decision.certificates import (
    CERTIFICATE,
    PRIVATE_KEY,
    CertificateFacts,
    read_facts,
)
from certwright.operators.rollout.decision.compare import SourceContents
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.workload import SourceKind, SourceRef
from certwright.runtime import BadObject, Entry
from certwright.runtime.cache.compression import Compression

COMPRESSION: Final = Compression(
    b'"unreadable":true"labels":{"app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/name":"'
    b'"controller.cert-manager.io/fao":"true","annotations":{"meta.helm.sh/release-name":"'
    b'"cert-manager.io/alt-names":"","cert-manager.io/certificate-name":"","cert-manager.io/'
    b'common-name":"","cert-manager.io/ip-sans":"","cert-manager.io/issuer-group":"cert-manager.io"'
    b',"cert-manager.io/issuer-kind":"ClusterIssuer","cert-manager.io/issuer-name":"",'
    b'"cert-manager.io/uri-sans":""}"certificate":[1,2,""]"binaryData"'
    b'{"metadata":{"uid":""},"digests":{"ca.crt":"","tls.crt":"","tls.key":""}}'
)
"""What kept sources have in common."""
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""It repeats the contents in plain text."""


class ReceivedMetadata(Struct, rename="camel"):
    """What is read of the metadata of a source."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class ReceivedSource(Struct, rename="camel"):
    """A Secret or ConfigMap as it is received."""

    metadata: ReceivedMetadata
    data: dict[str, str] | None = None
    binary_data: dict[str, str] | None = None


class _Named(Struct):
    metadata: ReceivedMetadata


_SOURCE: Final = msgspec.json.Decoder(ReceivedSource)
_NAMED: Final = msgspec.json.Decoder(_Named)


class DigestedContents:
    """A transform: replaces the contents of a source by digests, if *wanted* says it is consumed.

    Name and version are left out, for an entry knows them. It never fails: what failed here would
    be kept as it is, contents and all.
    """

    def __init__(
        self, kind: SourceKind, key: DigestKey, wanted: Callable[[SourceRef], bool]
    ) -> None:
        self._kind = kind
        self._key = key
        self._wanted = wanted

    def __call__(self, raw: bytes) -> bytes:
        """Return the metadata of a source with digests of its values, as JSON."""
        try:
            metadata = _NAMED.decode(raw).metadata
        except msgspec.DecodeError:
            return b'{"metadata":{}}'
        ref = SourceRef(self._kind, metadata.namespace, metadata.name)
        kept: JsonObject = {"uid": metadata.uid}
        if not self._wanted(ref):
            return exact_json({"metadata": kept})
        try:
            received = _SOURCE.decode(raw)
        except msgspec.DecodeError:
            return exact_json({"metadata": kept, "unreadable": True})
        annotations = dict(metadata.annotations or {})
        annotations.pop(_LAST_APPLIED, None)
        if metadata.labels:
            kept["labels"] = metadata.labels
        if annotations:
            kept["annotations"] = annotations
        reduced: JsonObject = {
            "metadata": kept,
            "digests": dict(_digests(ref, received, self._key)),
        }
        if (facts := _certificate(ref, received.data or {})) is not None:
            reduced["certificate"] = [facts.not_before, facts.not_after, facts.mismatch]
        return exact_json(reduced)


def _digests(ref: SourceRef, received: ReceivedSource, key: DigestKey) -> Iterator[tuple[str, str]]:
    for values in (received.data or {}, received.binary_data or {}):
        for name, value in values.items():
            yield name, key.of_value(ref, name, value.encode(errors="surrogatepass"))


def _certificate(ref: SourceRef, data: Mapping[str, str]) -> CertificateFacts | None:
    if ref.kind is not SourceKind.SECRET or CERTIFICATE not in data:
        return None
    try:
        decoded = {
            name: b64decode(data[name]) for name in (CERTIFICATE, PRIVATE_KEY) if name in data
        }
    except (binascii.Error, ValueError):
        return None
    return read_facts(decoded)


def read_contents(ref: SourceRef, entry: Entry) -> SourceContents | None:
    """Return what is kept of a source; None if it could not be read."""
    try:
        return _read(ref, entry.obj(), entry.meta.resource_version)
    except BadObject:
        return None


def contents_of(ref: SourceRef, obj: JsonObject, key: DigestKey) -> SourceContents | None:
    """Return what would be kept of a source as the API returned it; None if it is unreadable."""
    digested = DigestedContents(ref.kind, key, lambda _: True)
    version = obj["metadata"].get("resourceVersion") or ""
    return _read(ref, orjson.loads(digested(orjson.dumps(obj))), version)


def _read(ref: SourceRef, kept: JsonObject, version: str) -> SourceContents | None:
    if "digests" not in kept:
        return None
    metadata, certificate = kept["metadata"], kept.get("certificate")
    return SourceContents(
        ref,
        version,
        metadata.get("labels") or {},
        metadata.get("annotations") or {},
        kept["digests"],
        CertificateFacts(*certificate) if certificate else None,
    )
