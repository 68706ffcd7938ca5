"""Where certificates come from: a directory that kubelet projects, or a Secret that is watched."""

import asyncio
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from socket import gethostname
from typing import TypeAlias

from certwright.kube import Key
from certwright.kube.kinds import Secret
from certwright.runtime import BadObject, Cache, Entry, OperatorHost, Part, PolicyRule, StoreHandle
from certwright.runtime.writes.events import EventRecorder
from certwright.tls.certificates import CertificateUnusable, TlsFiles
from certwright.tls.directory import (
    AUTHORITY,
    CERTIFICATE,
    KEY,
    CertificateDirectory,
    DirectoryFollower,
)
from certwright.tls.server import ServingCertificate

_RECHECK_SECONDS = 30.0
"""How often a refused certificate is looked at again: its time may have come."""


@dataclass(frozen=True, slots=True)
class CertificateSecret:
    """A Secret with ``tls.crt``, ``tls.key`` and perhaps ``ca.crt``; watched.

    *client_authority* is the name of its value with the authorities whose client certificates are
    accepted; without it clients need none.
    """

    key: Key
    client_authority: str = ""


CertificateSource: TypeAlias = CertificateDirectory | CertificateSecret


def follow(
    source: CertificateSource, host: OperatorHost, certificate: ServingCertificate
) -> Iterator[Part]:
    """Yield what keeps a server's certificate as its source has it."""
    match source:
        case CertificateDirectory():
            yield DirectoryFollower(source, certificate)
        case CertificateSecret(key):
            cache = Cache(host.client, cluster="webhook", rng=host.rng)
            share = cache.store(Secret, namespace=key.namespace, fields=f"metadata.name={key.name}")
            recorder = EventRecorder(
                host.client, host.clock, controller="webhook", instance=gethostname()
            )
            follower = SecretFollower(source, certificate, share, recorder)
            share.listen(lambda _old, new: follower.changed(new))
            yield cache
            yield recorder
            yield follower


def rules_of(source: CertificateSource) -> list[PolicyRule]:
    """Return what a process must be allowed to do to follow a source."""
    if isinstance(source, CertificateDirectory):
        return []
    return [PolicyRule("", Secret.plural, ("get", "list", "watch"), (source.key.name,))]


def read_entry(source: CertificateSecret, entry: Entry | None) -> TlsFiles:
    """Return the files in a Secret; `CertificateUnusable` if it has none."""
    if entry is None:
        raise CertificateUnusable("Missing", f"Secret {source.key} does not exist")
    try:
        data = entry.obj().get("data") or {}
        found = {name: b64decode(str(value), validate=True) for name, value in data.items()}
    except (BadObject, ValueError):
        raise CertificateUnusable(
            "Unreadable", f"Secret {source.key} holds values that cannot be read"
        ) from None
    wanted = [CERTIFICATE, KEY, *([source.client_authority] if source.client_authority else [])]
    if missing := [name for name in wanted if name not in found]:
        raise CertificateUnusable("Missing", f"Secret {source.key} has no {', '.join(missing)}")
    return TlsFiles(
        certificate=found[CERTIFICATE],
        key=found[KEY],
        authority=found.get(AUTHORITY, b""),
        client_authority=found[source.client_authority] if source.client_authority else None,
    )


class SecretFollower:
    """Offers what a Secret holds, when it changes, and again while it cannot be used."""

    def __init__(
        self,
        source: CertificateSecret,
        certificate: ServingCertificate,
        share: StoreHandle,
        recorder: EventRecorder,
    ) -> None:
        self._recorder = recorder
        self._source = source
        self._certificate = certificate
        self._share = share
        self._entry: Entry | None = None

    def changed(self, entry: Entry | None) -> None:
        """Take note of another state of the Secret; None if it was deleted."""
        self._entry = entry
        self._look()

    async def run(self) -> None:
        """Run until cancelled."""
        await self._share.synced()
        while True:
            if self._certificate.problem:
                self._look()
            await asyncio.sleep(_RECHECK_SECONDS)

    def _look(self) -> None:
        before = self._certificate.problem
        try:
            self._certificate.offer(read_entry(self._source, self._entry))
        except CertificateUnusable as error:
            self._certificate.refuse(error)
        problem = self._certificate.problem
        if problem and problem != before and self._entry is not None:
            metadata = {**self._source.key._asdict(), "uid": self._entry.uid}
            obj = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
            self._recorder.record(obj, "Warning", "CertificateRefused", problem, "LoadCertificate")
