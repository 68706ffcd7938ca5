"""A directory with a certificate and its key, as kubelet projects them, read again and again."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from certwright.pki.pem import BUNDLE_LIMIT
from certwright.tls.certificates import CertificateUnusable, TlsFiles
from certwright.tls.server import ServingCertificate

CERTIFICATE, KEY, AUTHORITY = "tls.crt", "tls.key", "ca.crt"
_DATA = "..data"
_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class CertificateDirectory:
    """A directory with ``tls.crt``, ``tls.key`` and perhaps ``ca.crt``, looked at every *interval*.

    Both may have other names: *certificate_name*, *key_name*.
    *client_authority* is the file, in it or elsewhere, with the authorities whose client
    certificates are accepted; without it clients need none.
    """

    path: Path | str
    client_authority: str = ""
    interval: timedelta = timedelta(seconds=2)
    certificate_name: str = CERTIFICATE
    key_name: str = KEY


def read_directory(source: CertificateDirectory) -> TlsFiles:
    """Return the files of a directory, all of the same projection.

    Raises:
        CertificateUnusable: one is missing, too large or not readable.
    """
    for _ in range(_ATTEMPTS):
        with suppress(FileNotFoundError):
            return _read_once(source)
    names = (source.certificate_name, source.key_name)
    missing = [name for name in names if not (Path(source.path) / name).exists()]
    named = ", ".join(missing) or source.client_authority
    raise CertificateUnusable("Missing", f"{source.path} has no {named}")


def _read_once(source: CertificateDirectory) -> TlsFiles:
    """Read the files; `FileNotFoundError` if kubelet removed the projection meanwhile."""
    top = Path(source.path)
    # Kubelet swaps this link: through it, a certificate could meet the key of the next one.
    folder = (top / _DATA).resolve() if (top / _DATA).is_symlink() else top
    client = None
    if source.client_authority:
        inside = folder / source.client_authority  # an absolute path stays as it is
        client = _content(inside if inside.exists() else top / source.client_authority)
    authority = folder / AUTHORITY
    return TlsFiles(
        certificate=_content(folder / source.certificate_name),
        key=_content(folder / source.key_name),
        authority=_content(authority) if authority.exists() else b"",
        client_authority=client,
    )


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(BUNDLE_LIMIT + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise CertificateUnusable("Unreadable", f"{path}: {error.strerror}") from None
    if len(content) > BUNDLE_LIMIT:
        raise CertificateUnusable("Unreadable", f"{path} is larger than {BUNDLE_LIMIT} bytes")
    return content


class DirectoryFollower:
    """Looks at a directory again and again."""

    def __init__(self, source: CertificateDirectory, certificate: ServingCertificate) -> None:
        self._source = source
        self._certificate = certificate

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(self._source.interval.total_seconds())

    async def look(self) -> None:
        """Read the files once and offer them."""
        try:
            files = await asyncio.to_thread(read_directory, self._source)
        except CertificateUnusable as error:
            self._certificate.refuse(error)
        else:
            self._certificate.offer(files)
