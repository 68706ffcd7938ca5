"""TLS contexts: whom to trust and how to identify, rebuilt when the material changes."""

import logging
import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from certwright.client.config.config import Config
from certwright.client.config.credentials import Login
from certwright.client.config.stored import WatchedFile
from certwright.client.errors import CredentialError
from certwright.clock import Clock

_log = logging.getLogger("certwright.client")


class TlsContexts:
    """Gives the context for a login.

    Authorities are looked at like logins, at most once a second; connections made with an older
    context live on until they are idle. Material that does not fit together, such as a new
    certificate whose key is not there yet, is reported once and the last good context stays.
    """

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config = config
        self._ca = WatchedFile(config.ca, clock)
        self._tried: tuple[bytes, bytes, bytes] | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, login: Login) -> ssl.SSLContext:
        """Return the context to connect with."""
        wanted = (self._ca.read(), login.certificate, login.key)
        if self._context is not None and wanted == self._tried:
            return self._context
        try:
            self._context = self._build(*wanted)
        except CredentialError as error:
            if self._context is None:
                raise
            _log.warning("changed TLS material cannot be used, keeping the old: %s", error)
        self._tried = wanted
        return self._context

    def _build(self, ca: bytes, certificate: bytes, key: bytes) -> ssl.SSLContext:
        config = self._config
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_alpn_protocols(["http/1.1"])
        context.options |= ssl.OP_NO_RENEGOTIATION  # nobody we talk to does, attackers might
        if config.insecure_skip_tls_verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif ca:
            _trust(context, ca, config.ca.path or config.source)
        else:
            context.load_default_certs()
        if certificate:
            _identify(context, certificate, key, config.user.certificate.path or config.source)
        return context


def _trust(context: ssl.SSLContext, ca: bytes, where: str) -> None:
    # Any listed authority is an anchor, root or not, as for every Kubernetes client in Go.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=ca.decode("ascii"))
    except (ssl.SSLError, UnicodeDecodeError) as error:
        raise CredentialError(
            f"{where}: the certificate authority is not PEM; put the cluster's CA certificate there"
        ) from error


def _identify(context: ssl.SSLContext, certificate: bytes, key: bytes, where: str) -> None:
    try:
        with _as_file(certificate.rstrip() + b"\n" + key) as path:
            # An encrypted key must fail, not ask for a password on the terminal.
            context.load_cert_chain(path, password=lambda: "")
    except ssl.SSLError as error:
        raise CredentialError(
            f"{where}: client certificate and key cannot be used ({error.reason or 'not PEM'}); "
            "they must be PEM, unencrypted and belong together"
        ) from error


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """Offer bytes under a path, because OpenSSL's Python API reads keys from nothing else."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("certwright")  # never touches a disk
        try:
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                file.write(content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.NamedTemporaryFile(prefix="certwright-") as file:
            file.write(content)
            file.flush()
            yield file.name
