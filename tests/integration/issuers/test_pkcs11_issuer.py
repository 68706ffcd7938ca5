"""The pkcs11 issuer with a SoftHSM behind it."""

import secrets
import subprocess
from datetime import timedelta
from typing import ClassVar

import pytest

from certwright import pki
from certwright.issuer.conformance import Feature, IssuerConformance

KEY = pki.generate_key(pki.KeySpec())
OTHER = pki.generate_key(pki.KeySpec())


@pytest.fixture(scope="session")
def label(hsm, tmp_path_factory):
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
def hsm_app(module):
    from certwright.issuers.pkcs11 import pkcs11_issuer  # noqa: PLC0415 - needs the extra

    return pkcs11_issuer(lambda: module)


def spec_for(hsm, label, now, key=KEY, **more):
    root = pki.create_root(pki.parse_name("CN=HSM root"), key, timedelta(days=900), now)
    return {
        "token": hsm.token, "key": label, "pin": {"name": "hsm", "key": "pin"},
        "certificates": pki.write_certificates(root.certificate).decode(), **more,
    }  # fmt: skip


def pin_secret(pin):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "hsm"},
        "stringData": {"pin": pin},
    }


class TestPkcs11(IssuerConformance):
    patience, glance = timedelta(seconds=10), timedelta(seconds=0.2)
    unsupported: ClassVar = {Feature.ACME_RENEWAL_INFORMATION: "no ACME here"}

    @pytest.fixture
    def cluster(self, live, hsm, hsm_app, label):
        self.app, self.pin = hsm_app, hsm.pin
        self.spec = spec_for(hsm, label, live.clock.now())
        return live

    async def prepare(self, cluster):
        await cluster.create(pin_secret(self.pin))


@pytest.mark.parametrize(
    ("pin", "change", "reason"),
    [
        ("0000", {}, "the token 'shop' does not open: PinIncorrect"),
        ("4711", {"key": "nobody"}, "the token 'shop' has 0 keys named 'nobody'"),
        ("4711", {"token": "other"}, "the token 'other' does not open: NoSuchToken"),
        ("4711", {"certificates": "nonsense"}, "MalformedPem"),
    ],
)
async def test_an_issuer_that_cannot_sign_says_why(
    issued, live, hsm, hsm_app, label, pin, change, reason
):
    await live.create(pin_secret(pin))
    outcome = await issued(hsm_app, {**spec_for(hsm, label, live.clock.now()), **change})
    assert outcome.issuer_ready.status == "False"
    assert reason in outcome.issuer_ready.message
    assert pin not in outcome.told


async def test_a_certificate_of_another_key_is_noticed(issued, live, hsm, hsm_app, label):
    await live.create(pin_secret(hsm.pin))
    outcome = await issued(hsm_app, spec_for(hsm, label, live.clock.now(), OTHER))
    assert "the key in the token is not the one of the certificate" in outcome.issuer_ready.message
