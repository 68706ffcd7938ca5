"""The certificate a server presents: checked before it is used, swapped between two handshakes.

A context that is in use cannot be given another certificate: OpenSSL keeps one pair per type of
key, so an old pair of another type goes on being presented, and a key that does not fit is taken
without an error. So each pair gets a context of its own, and every handshake, which begins on a
context without a certificate, moves to the newest.
"""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import structlog

from certwright.client.http.errors import InvalidMaterial
from certwright.client.http.tls import identify
from certwright.clock import Clock
from certwright.tls.certificates import (
    CertificateUnusable,
    ServingPair,
    TlsFiles,
    check_files,
)

_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class HandshakeProfile:
    """How a server shakes hands."""

    name: str
    """For the log: ``webhook``."""
    protocol: str
    """What is spoken afterwards, as ALPN calls it."""
    clients: ssl.VerifyMode = ssl.CERT_NONE
    """Whether clients show a certificate. One that the authority did not sign is refused."""
    minimum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3


class CertificateMetrics(Protocol):
    """What is counted of a server's certificate."""

    def certificate_loaded(self, pair: ServingPair) -> None:
        """Count a pair that is presented from now on."""
        ...

    def certificate_refused(self, reason: str) -> None:
        """Count a pair that cannot be used."""
        ...


class ServingCertificate:
    """The last good pair, and why the latest one is not it."""

    def __init__(
        self, clock: Clock, metrics: CertificateMetrics, profile: HandshakeProfile
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._profile = profile
        self._offered: TlsFiles | None = None
        self._listeners: list[Callable[[], None]] = []
        self._context: ssl.SSLContext | None = None
        self.pair: ServingPair | None = None
        """What is presented now."""
        self.problem = "no certificate was found yet"
        """Why the latest certificate is not used; empty if it is."""
        self.reason = ""
        self.front = self._new_context()
        """The context to listen with."""
        self.front.sni_callback = self._choose

    def listen(self, listener: Callable[[], None]) -> None:
        """Call a function whenever another pair was taken into use, or one was refused."""
        self._listeners.append(listener)

    def offer(self, files: TlsFiles) -> None:
        """Use these files from the next handshake on, if they are good; keep the others if not."""
        if files == self._offered and not self.problem:
            return
        self._offered = files
        try:
            pair = check_files(files, self._clock.now())
            context = self._context_of(pair)
        except CertificateUnusable as error:
            self.refuse(error)
            return
        self.pair, self._context, self.problem, self.reason = pair, context, "", ""
        self._metrics.certificate_loaded(pair)
        _log.info(
            "serving certificate loaded",
            server=self._profile.name,
            fingerprint=pair.fingerprint,
            expires=pair.validity.not_after.isoformat(),
        )
        self._tell()

    def refuse(self, error: CertificateUnusable) -> None:
        """Note that there is a certificate which cannot be used; say so once."""
        if str(error) == self.problem:
            return
        self.problem, self.reason = str(error), error.reason
        self._metrics.certificate_refused(error.reason)
        kept = self.pair.fingerprint if self.pair else None
        _log.warning(
            "serving certificate refused",
            server=self._profile.name,
            reason=error.reason,
            error=self.problem,
            kept=kept,
        )
        self._tell()

    @property
    def context(self) -> ssl.SSLContext | None:
        """The context of the pair in use, for servers that begin each handshake on it."""
        return self._context

    def is_current(self, connection: ssl.SSLObject | None) -> bool:
        """Return whether a connection was made with the pair in use now."""
        return connection is None or connection.context is self._context

    def fingerprint_of(self, connection: ssl.SSLObject | None) -> str:
        """Return the fingerprint that a connection was made with; empty if of an earlier pair."""
        return self.pair.fingerprint if self.pair and self.is_current(connection) else ""

    def expired(self) -> bool:
        """Return whether what is presented is worth nothing any more."""
        return self.pair is not None and self._clock.now() > self.pair.validity.not_after

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()

    def _choose(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        if self._context is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._context
        return None

    def _context_of(self, pair: ServingPair) -> ssl.SSLContext:
        context = self._new_context()
        try:
            identify(context, pair.files.certificate, pair.files.key)
            if pair.client_authority:
                context.load_verify_locations(cadata=pair.client_authority.decode("ascii"))
        except (InvalidMaterial, ssl.SSLError) as error:
            raise CertificateUnusable("Unfit", f"OpenSSL refuses it: {error}") from None
        return context

    def _new_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # In 1.2 a session of the front context could be resumed, past the current authority.
        context.minimum_version = self._profile.minimum
        context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
        context.set_ciphers("ECDHE+AESGCM:ECDHE+CHACHA20")  # of 1.2; those of 1.3 are all fit
        context.num_tickets = 0
        context.set_alpn_protocols([self._profile.protocol])
        context.verify_mode = self._profile.clients
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context
