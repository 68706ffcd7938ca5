"""Keys inside a SoftHSM sign like keys of our own, and never come out."""

import secrets
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from certwright import pki

KEYS = [("ECDSA", 256), ("ECDSA", 384), ("ECDSA", 521), ("RSA", 2048), ("RSA", 4096)]
NOW = datetime.now(UTC)


@pytest.fixture
def stored(hsm: Any, tmp_path: Path) -> Any:
    """Put a key into the token; return its label and the key, to compare with."""

    def store(algorithm: str = "ECDSA", size: int = 256) -> Any:
        label = secrets.token_hex(4)
        key = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm(algorithm), size))
        (tmp_path / "key.pem").write_bytes(pki.write_key(key))
        subprocess.run(
            ["softhsm2-util", "--import", str(tmp_path / "key.pem"), "--token", hsm.token,
             "--label", label, "--id", label, "--pin", hsm.pin],
            check=True, capture_output=True,
        )  # fmt: skip
        return label, key

    return store


def place(hsm: Any, label: str, pin: Any = None) -> Any:
    from certwright.issuers.pkcs11 import KeyPlace  # noqa: PLC0415

    return KeyPlace(hsm.token, label, pin or hsm.pin)


def authority_inside(module: Any, hsm: Any, label: str, key: Any) -> Any:
    from certwright.issuers.pkcs11 import key_inside  # noqa: PLC0415

    root = pki.create_root(pki.parse_name("CN=HSM root"), key, timedelta(days=9), NOW)
    inside = key_inside(module, place(hsm, label), key.public_key())
    return pki.Authority(root.certificate, inside)


def server(authority: Any, name: str = "a.example.com") -> Any:
    leaf = pki.generate_key(pki.KeySpec())
    template = pki.server_template(
        pki.parse_name(f"CN={name}"), leaf.public_key(), timedelta(days=1),
        pki.AlternativeNames.of_hosts(name),
    )  # fmt: skip
    return authority.issue(template, NOW)


@pytest.mark.parametrize(("algorithm", "size"), KEYS)
def test_openssl_believes_what_the_module_signed(
    hsm: Any, module: Any, stored: Any, tmp_path: Path, algorithm: Any, size: Any
) -> None:
    authority = authority_inside(module, hsm, *stored(algorithm, size))
    (tmp_path / "root.pem").write_bytes(pki.write_certificates(authority.certificate))
    (tmp_path / "leaf.pem").write_bytes(pki.write_certificates(server(authority)))
    subprocess.run(
        [
            "openssl",
            "verify",
            "-x509_strict",
            "-CAfile",
            tmp_path / "root.pem",
            tmp_path / "leaf.pem",
        ],
        check=True,
    )


def test_a_revocation_list_is_signed_too(hsm: Any, module: Any, stored: Any) -> None:
    authority = authority_inside(module, hsm, *stored())
    listed = authority.revocation_list([], number=1, now=NOW, lifetime=timedelta(days=1))
    assert listed.is_signature_valid(authority.certificate.public_key())


def test_threads_take_turns(hsm: Any, module: Any, stored: Any) -> None:
    authority = authority_inside(module, hsm, *stored())
    with ThreadPoolExecutor(8) as pool:
        leaves = list(pool.map(lambda n: server(authority, f"n{n}.example.com"), range(40)))
    for leaf in leaves:
        leaf.verify_directly_issued_by(authority.certificate)


# A search on the dead session cannot be ended, which the binding notes on stderr.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_session_that_the_module_dropped_is_opened_anew(
    hsm: Any, module: Any, stored: Any
) -> None:
    authority = authority_inside(module, hsm, *stored())
    server(authority)
    module._sessions[hsm.token].session.close()
    server(authority).verify_directly_issued_by(authority.certificate)


def test_a_wrong_pin_is_refused_even_where_the_token_is_open(
    hsm: Any, module: Any, stored: Any
) -> None:
    from pkcs11 import Mechanism  # noqa: PLC0415

    from certwright.issuers.pkcs11 import HsmError  # noqa: PLC0415

    label, _ = stored()
    module.check(place(hsm, label))
    with pytest.raises(HsmError, match="does not open: PinIncorrect") as refused:
        module.check(place(hsm, label, "0000"))
    assert "0000" not in str(refused.value)
    module.check(place(hsm, label))
    with pytest.raises(HsmError, match="does not open: PinIncorrect"):
        module.sign(place(hsm, label, "0000"), b"x" * 32, Mechanism.ECDSA)


def test_a_check_does_not_trust_a_session_of_old(hsm: Any, module: Any, stored: Any) -> None:
    """The PIN may have been changed in the token since."""
    label, _ = stored()
    module.check(place(hsm, label))
    before = module._sessions[hsm.token].session
    module.check(place(hsm, label))
    assert module._sessions[hsm.token].session is not before


def test_what_is_not_there_is_named(hsm: Any, module: Any) -> None:
    from certwright.issuers.pkcs11 import HsmError, KeyPlace, Module  # noqa: PLC0415

    with pytest.raises(HsmError, match="the token 'shop' has 0 keys named 'nobody'"):
        module.check(place(hsm, "nobody"))
    with pytest.raises(HsmError, match="the token 'elsewhere' does not open: NoSuchToken"):
        module.check(KeyPlace("elsewhere", "key", "1234"))
    with pytest.raises(HsmError, match="cannot be loaded"):
        Module("/nowhere/libhsm.so")


def test_the_key_stays_inside_and_the_pin_out_of_sight(hsm: Any, module: Any, stored: Any) -> None:
    from certwright.issuers.pkcs11 import KeyStaysInside, key_inside  # noqa: PLC0415

    for algorithm, size in [("ECDSA", 256), ("RSA", 2048)]:
        label, key = stored(algorithm, size)
        inside = key_inside(module, place(hsm, label), key.public_key())
        with pytest.raises(KeyStaysInside):
            pki.write_key(inside)
        with pytest.raises(KeyStaysInside):
            cast("Any", inside).private_numbers()
    assert hsm.pin not in repr(place(hsm, label))


def test_other_keys_are_refused_by_name(hsm: Any, module: Any) -> None:
    from certwright.issuers.pkcs11 import key_inside  # noqa: PLC0415

    key = pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ED25519))
    with pytest.raises(pki.UnsupportedKey, match="Ed25519 keys inside a module"):
        key_inside(module, place(hsm, "any"), key.public_key())
