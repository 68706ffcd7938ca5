"""The certificate a server presents: checked before it is used, swapped between two handshakes.

A context that is in use cannot be given another certificate: OpenSSL keeps one pair per type of
key, so an old pair of another type goes on being presented, and a key that does not fit is taken
without an error. So each pair gets a context of its own, and every handshake, which begins on a
context without a certificate, moves to the newest.
"""

import ssl
from collections.abc import Callable

import structlog

from certwright.client.http.errors import InvalidMaterial
from certwright.client.http.tls import identify
from certwright.clock import Clock
from certwright.webhook.certificates import (
    CertificateUnusable,
    ServingPair,
    TlsFiles,
    check_files,
)
from certwright.webhook.metrics import WebhookMetrics

_log = structlog.get_logger()


class ServingCertificate:
    """The last good pair, and why the latest one is not it.

    Without *client_authority* clients need no certificate; with it, those who show one that was
    not signed by the authority are refused, and what others may do is for the server to decide.
    """

    def __init__(
        self, clock: Clock, metrics: WebhookMetrics, *, client_authority: bool = False
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._verify = ssl.CERT_OPTIONAL if client_authority else ssl.CERT_NONE
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
        self._metrics.loaded.inc()
        self._metrics.expires.set(pair.validity.not_after.timestamp())
        _log.info(
            "webhook certificate loaded",
            fingerprint=pair.fingerprint,
            expires=pair.validity.not_after.isoformat(),
        )
        self._tell()

    def refuse(self, error: CertificateUnusable) -> None:
        """Note that there is a certificate which cannot be used; say so once."""
        if str(error) == self.problem:
            return
        self.problem, self.reason = str(error), error.reason
        self._metrics.refused.labels(error.reason).inc()
        kept = self.pair.fingerprint if self.pair else None
        _log.warning(
            "webhook certificate refused", reason=error.reason, error=self.problem, kept=kept
        )
        self._tell()

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
        # API servers have it. In 1.2 a session could be resumed, past the current authority.
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.num_tickets = 0
        context.set_alpn_protocols(["http/1.1"])
        context.verify_mode = self._verify
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context
