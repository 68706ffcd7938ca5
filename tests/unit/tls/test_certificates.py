"""Which certificates are taken into use, and why others are not."""

from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.webhook import DAY, NOW, RSA, Ca, as_files, write_projected

from certwright import pki
from certwright.tls.certificates import CertificateUnusable, TlsFiles, check_files
from certwright.tls.directory import CertificateDirectory, read_directory

CA = Ca()
GOOD = CA.serving(client_authority=CA.pem)


def refusal(files: TlsFiles, at: timedelta = timedelta()) -> tuple[str, str]:
    with pytest.raises(CertificateUnusable) as raised:
        check_files(files, NOW + at)
    return raised.value.reason, str(raised.value)


def test_a_good_pair_is_taken() -> None:
    pair = check_files(GOOD, NOW)
    assert len(pair.fingerprint) == 64
    assert pair.validity.covers(NOW)
    assert pki.read_bundle(pair.client_authority) == [CA.authority.certificate]
    assert check_files(CA.serving(key=pki.generate_key(RSA)), NOW).client_authority == b""


def test_a_pair_that_cannot_be_presented_is_refused_by_name() -> None:
    assert refusal(TlsFiles(b"", b""))[0] == "Unreadable"
    assert refusal(TlsFiles(GOOD.certificate, b"x"))[0] == "Unreadable"
    assert refusal(TlsFiles(GOOD.certificate[:400], GOOD.key))[0] == "Unreadable"
    assert refusal(TlsFiles(b"x" * 100_000, GOOD.key))[0] == "Unreadable"
    assert refusal(TlsFiles(GOOD.certificate, CA.serving().key))[0] == "KeyMismatch"
    rsa = CA.serving(key=pki.generate_key(RSA))
    assert refusal(TlsFiles(GOOD.certificate, rsa.key))[0] == "KeyMismatch"
    assert refusal(GOOD, 11 * DAY)[0] == "Expired"
    assert refusal(GOOD, -DAY)[0] == "NotYetValid"
    assert refusal(CA.client("someone")) == (
        "Unfit",
        "the certificate has not the usage 'server auth'",
    )


def test_a_client_authority_that_trusts_none_is_refused() -> None:
    def with_client(pem: bytes) -> TlsFiles:
        return TlsFiles(GOOD.certificate, GOOD.key, client_authority=pem)

    assert refusal(with_client(b""))[0] == "Unreadable"
    assert refusal(with_client(CA.client("leaf").certificate))[0] == "Unfit"


def test_no_message_and_no_repr_shows_a_key() -> None:
    secret = GOOD.key.splitlines()[1].decode()
    _, message = refusal(TlsFiles(GOOD.certificate, GOOD.key + GOOD.key))
    for text in (repr(GOOD), repr(check_files(GOOD, NOW)), message):
        assert secret not in text


def test_a_projected_directory_is_read_as_a_whole(tmp_path: Path) -> None:
    write_projected(tmp_path, "1", as_files(GOOD) | {"client.crt": CA.pem})
    found = read_directory(CertificateDirectory(tmp_path, client_authority="client.crt"))
    assert found == GOOD


def test_the_client_authority_may_be_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "tls").mkdir()
    write_projected(tmp_path / "tls", "1", as_files(GOOD))
    (tmp_path / "ca.pem").write_bytes(CA.pem)
    directory = CertificateDirectory(tmp_path / "tls", client_authority=str(tmp_path / "ca.pem"))
    assert read_directory(directory) == GOOD


def test_files_that_are_missing_or_too_large_are_named(tmp_path: Path) -> None:
    directory = CertificateDirectory(tmp_path, client_authority="client.crt")
    with pytest.raises(CertificateUnusable, match=r"has no tls.crt, tls.key"):
        read_directory(directory)
    (tmp_path / "tls.crt").write_bytes(GOOD.certificate)
    (tmp_path / "tls.key").write_bytes(b"x" * 400_000)
    with pytest.raises(CertificateUnusable, match=r"has no client.crt"):
        read_directory(directory)
    (tmp_path / "client.crt").write_bytes(CA.pem)
    with pytest.raises(CertificateUnusable, match=r"tls.key is larger than"):
        read_directory(directory)
    (tmp_path / "tls.key").unlink()
    (tmp_path / "tls.key").mkdir()
    with pytest.raises(CertificateUnusable, match=r"Is a directory"):
        read_directory(directory)
