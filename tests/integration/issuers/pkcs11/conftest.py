"""A key inside the SoftHSM of the folder above, its issuer, and the real cert-manager."""

import secrets
import subprocess
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.support.certmanager.certmanager_world import (
    certified,
    key_pair,
    make_certificate,
    ready,
    run_app,
    until,
)

from certwright import pki
from certwright.kube import JsonObject

__all__ = ["certified", "key_pair", "make_certificate", "ready", "run_app", "until"]

KEY = pki.generate_key(pki.KeySpec())


@pytest.fixture(scope="session")
def label(hsm: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The label of a key in the token."""
    path, label = tmp_path_factory.mktemp("key") / "key.pem", secrets.token_hex(4)
    path.write_bytes(pki.write_key(KEY))
    subprocess.run(
        ["softhsm2-util", "--import", path, "--token", hsm.token, "--label", label, "--id", label,
         "--pin", hsm.pin],
        check=True, capture_output=True,
    )  # fmt: skip
    return label


@pytest.fixture(scope="session")
def hsm_app(module: Any) -> Any:
    from certwright.issuers.pkcs11 import pkcs11_issuer  # noqa: PLC0415 - needs the extra

    return pkcs11_issuer(lambda: module)


@pytest.fixture
def hsm_spec(hsm: Any, label: str) -> Any:
    """Make the spec of an issuer with that key, and a root that it, or another one, signed."""

    def make(key: Any = KEY) -> JsonObject:
        name, now = pki.parse_name("CN=HSM root"), datetime.now(UTC)
        root = pki.create_root(name, key, timedelta(days=900), now)
        return {
            "token": hsm.token, "key": label, "pin": {"name": "hsm", "key": "pin"},
            "certificates": pki.write_certificates(root.certificate).decode(),
        }  # fmt: skip

    return make


@pytest.fixture
def pin_secret(hsm: Any) -> Any:
    """Make the Secret that the spec refers to."""

    def make(pin: Any = hsm.pin) -> JsonObject:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "hsm"},
            "stringData": {"pin": pin},
        }

    return make
