"""The pkcs11 issuer with a SoftHSM behind it."""

from datetime import timedelta
from typing import ClassVar

import pytest

from certwright import pki
from certwright.issuer.conformance import Feature, IssuerConformance

OTHER = pki.generate_key(pki.KeySpec())


class TestPkcs11(IssuerConformance):
    patience, glance = timedelta(seconds=10), timedelta(seconds=0.2)
    unsupported: ClassVar = {Feature.ACME_RENEWAL_INFORMATION: "no ACME here"}

    @pytest.fixture
    def cluster(self, live, hsm_app, hsm_spec, pin_secret):
        self.app, self.spec, self.secret = hsm_app, hsm_spec(), pin_secret()
        return live

    async def prepare(self, cluster):
        await cluster.create(self.secret)


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
    issued, live, hsm_app, hsm_spec, pin_secret, pin, change, reason
):
    await live.create(pin_secret(pin))
    outcome = await issued(hsm_app, {**hsm_spec(), **change})
    assert outcome.issuer_ready.status == "False"
    assert reason in outcome.issuer_ready.message
    assert pin not in outcome.told


async def test_a_certificate_of_another_key_is_noticed(issued, live, hsm_app, hsm_spec, pin_secret):
    await live.create(pin_secret())
    outcome = await issued(hsm_app, hsm_spec(OTHER))
    assert "the key in the token is not the one of the certificate" in outcome.issuer_ready.message
