"""From an approved request to an issued one."""

from collections.abc import Callable

from tests.support.issuer.issuer_world import World

from certwright import pki
from certwright.api.certmanager import CertificateRequest


async def test_an_approved_request_is_issued_with_one_write(world: Callable[..., World]) -> None:
    w = world()
    await w.issuer()
    await w.settle()
    await w.request()
    calls = await w.settle()
    found = await w.cluster.get(CertificateRequest, "cr1")
    ready = await w.ready()
    assert (ready.status, ready.reason, ready.message) == (
        "True",
        "Issued",
        "Succeeded signing the CertificateRequest",
    )
    chain = pki.read_chain(found.status.certificate)
    pki.check_key_pair(chain.leaf, w.key)
    assert found.status.ca == b""
    assert calls.reads == 0
    assert calls.of("CertificateRequest").writes == 1
    assert await w.events() == [("Normal", "Issued", "Succeeded signing the CertificateRequest")]
