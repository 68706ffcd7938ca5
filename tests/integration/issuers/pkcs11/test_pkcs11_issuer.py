"""The pkcs11 issuer with a SoftHSM behind it."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from tests.integration.issuers.conftest import LiveCluster

from certwright import pki
from certwright.issuer.conformance import Feature, IssuerConformance

OTHER = pki.generate_key(pki.KeySpec())


class TestPkcs11(IssuerConformance):
    patience, glance = timedelta(seconds=10), timedelta(seconds=0.2)
    unsupported: ClassVar = {Feature.ACME_RENEWAL_INFORMATION: "no ACME here"}

    @pytest.fixture
    def cluster(self, live: LiveCluster, hsm_app: Any, hsm_spec: Any, pin_secret: Any) -> Any:
        suite: Any = self
        suite.app, suite.spec, self.secret = hsm_app, hsm_spec(), pin_secret()
        return live

    async def prepare(self, cluster: Any) -> None:
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
    issued: Callable[..., Awaitable[Any]],
    live: LiveCluster,
    hsm_app: Any,
    hsm_spec: Any,
    pin_secret: Any,
    pin: Any,
    change: Any,
    reason: str,
) -> None:
    await live.create(pin_secret(pin))
    outcome = await issued(hsm_app, {**hsm_spec(), **change})
    assert outcome.issuer_ready.status == "False"
    assert reason in outcome.issuer_ready.message
    assert pin not in outcome.told


async def test_a_certificate_of_another_key_is_noticed(
    issued: Callable[..., Awaitable[Any]],
    live: LiveCluster,
    hsm_app: Any,
    hsm_spec: Any,
    pin_secret: Any,
) -> None:
    await live.create(pin_secret())
    outcome = await issued(hsm_app, hsm_spec(OTHER))
    assert "the key in the token is not the one of the certificate" in outcome.issuer_ready.message
