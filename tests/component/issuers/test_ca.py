"""Authorities out of Secrets, and how one follows another."""

from base64 import b64encode
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from tests.component.issuers.conftest import World

from certwright import pki
from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import CertificateRequestStatus
from certwright.issuers.ca import app
from certwright.kube import JsonObject
from certwright.kube.kinds import Secret
from certwright.pki import Authority
from certwright.pki.certificates import extension
from certwright.pki.names import common_name
from certwright.testkit import Cluster, EmbeddedCluster

DAY = timedelta(days=1)
KEYS = [("ECDSA", 256), ("ECDSA", 384), ("ECDSA", 521), ("RSA", 2048), ("Ed25519", 0)]
_keys: dict[Any, Any] = {}


def key_of(
    algorithm: str = "ECDSA", size: int = 0, which: str = "root"
) -> EllipticCurvePrivateKey | Ed25519PrivateKey | RSAPrivateKey:
    """The same key every time: RSA keys are dear."""
    if (algorithm, size, which) not in _keys:
        _keys[algorithm, size, which] = pki.generate_key(
            pki.KeySpec(pki.KeyAlgorithm(algorithm), size)
        )
    value: EllipticCurvePrivateKey | Ed25519PrivateKey | RSAPrivateKey = _keys[
        algorithm, size, which
    ]
    return value


def root(
    now: datetime, which: str = "root", lifetime: timedelta = 3650 * DAY, **key: Any
) -> Authority:
    return pki.create_root(pki.parse_name(f"CN={which}"), key_of(**key, which=which), lifetime, now)


def held(authority: Authority, **more: bytes) -> JsonObject:
    """An authority as its Secret holds it."""
    chain = pki.write_certificates(authority.certificate, *authority.chain)
    return {"tls_crt": chain, "tls_key": pki.write_key(authority.key), **more}


@pytest.fixture
async def ca(cluster: Cluster, world_of: Callable[..., Awaitable[Any]]) -> World:
    value: World = await world_of(cluster, app)
    return value


@pytest.mark.parametrize(("algorithm", "size"), KEYS)
async def test_openssl_believes_what_was_signed(
    ca: World, csr: bytes, openssl: Callable[..., Any], algorithm: str, size: int
) -> None:
    now = ca.cluster.clock.now()
    await ca.secret("ca", **held(root(now, algorithm=algorithm, size=size)))
    await ca.issuer(authorities=[{"name": "ca"}])
    status = await ca.request("cr", csr)
    assert openssl(status.ca, status.certificate, now) == "OK"


async def test_below_an_intermediate_the_chain_leads_to_the_root(
    ca: World, csr: bytes, openssl: Callable[..., Any]
) -> None:
    now = ca.cluster.clock.now()
    top = root(now)
    between = pki.create_intermediate(
        top, pki.parse_name("CN=between"), key_of(which="b"), 99 * DAY, now
    )
    await ca.secret("ca", **held(between, ca_crt=pki.write_certificates(top.certificate)))
    await ca.issuer(authorities=[{"name": "ca"}])
    status = await ca.request("cr", csr)
    assert len(pki.read_certificates(status.certificate)) == 2
    assert pki.read_bundle(status.ca) == [top.certificate]
    assert openssl(status.ca, status.certificate, now) == "OK"


async def test_certificates_say_where_to_ask_about_their_authority(ca: World, csr: bytes) -> None:
    await ca.secret("ca", **held(root(ca.cluster.clock.now())))
    await ca.issuer(
        authorities=[{"name": "ca"}],
        revocationLists=["http://ca.example/crl"],
        ocspServers=["http://ca.example/ocsp"],
        issuingCertificates=["http://ca.example/ca.crt"],
    )
    leaf = pki.read_certificate((await ca.request("cr", csr)).certificate)
    (point,) = cast("Any", extension(leaf, x509.CRLDistributionPoints))
    assert point.full_name[0].value == "http://ca.example/crl"
    access: Any = extension(leaf, x509.AuthorityInformationAccess)
    places = {one.access_location.value for one in access}
    assert places == {"http://ca.example/ocsp", "http://ca.example/ca.crt"}


async def test_an_authority_of_a_namespace_answers_kubernetes_requests(
    ca: World, csr: bytes
) -> None:
    """As cert-manager's own does; who may name it is asked of the API server."""
    await ca.secret("ca", **held(root(ca.cluster.clock.now())))
    await ca.issuer(authorities=[{"name": "ca"}])
    kind, namespace = ca.kind.resource, ca.cluster.namespace
    name = f"web-{namespace}"
    made = await ca.cluster.create(
        {
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest",
            "metadata": {"name": name},
            "spec": {
                "request": b64encode(csr).decode(), "signerName": f"{kind.qualified}/{namespace}.it",
                "usages": ["digital signature", "key encipherment"],
            },
        }
    )  # fmt: skip
    approved = {"type": "Approved", "status": "True", "reason": "Tested", "message": "by a test"}
    made["status"] = {"conditions": [approved]}
    await ca.cluster.client.update(made, subresource="approval")
    calls = await ca.settle()
    found = await ca.cluster.get(CertificateSigningRequest, name)
    await ca.cluster.delete(CertificateSigningRequest, name)
    assert common_name(pki.read_chain(found.status.certificate).leaf.issuer) == "root"
    assert len(calls.of("SubjectAccessReview")) == 1


async def test_one_authority_follows_another_unnoticed(
    embedded_cluster: EmbeddedCluster,
    world_of: Callable[..., Awaitable[Any]],
    csr: bytes,
    openssl: Callable[..., Any],
) -> None:
    """At every moment, what any request was given as trust believes what any other was issued."""
    ca = await world_of(embedded_cluster, app)
    clock = embedded_cluster.clock
    old = root(clock.now(), "old")
    await ca.secret("old", **held(old))
    spec = {"propagation": "3m", "maxDuration": "30m"}
    await ca.issuer(authorities=[{"name": "old"}], **spec)
    before = await ca.request("before", csr, duration="30m")
    assert pki.read_bundle(before.ca) == [old.certificate]

    await embedded_cluster.advance(minutes=40)
    new = root(clock.now(), "new")
    await ca.secret("new", **held(new))
    await ca.issuer(authorities=[{"name": "old"}, {"name": "new"}], **spec)
    prepared = await ca.request("prepared", csr, duration="30m")
    assert signer_of(prepared) == "old"
    assert set(pki.read_bundle(prepared.ca)) == {old.certificate, new.certificate}

    await embedded_cluster.advance(minutes=4)
    active = await ca.request("active", csr, duration="30m")
    assert signer_of(active) == "new"
    for trust in (prepared.ca, active.ca):
        for chain in (prepared.certificate, active.certificate):
            assert openssl(trust, chain, clock.now()) == "OK"

    await embedded_cluster.advance(minutes=31)
    retired = await ca.request("retired", csr, duration="30m")
    assert signer_of(retired) == "new"
    assert pki.read_bundle(retired.ca) == [new.certificate]


def signer_of(status: CertificateRequestStatus) -> str:
    leaf = pki.read_certificates(status.certificate)[0]
    return common_name(leaf.issuer)


async def test_a_lifetime_beyond_the_limit_is_refused(ca: World, csr: bytes) -> None:
    await ca.secret("ca", **held(root(ca.cluster.clock.now())))
    await ca.issuer(authorities=[{"name": "ca"}], maxDuration="24h")
    await ca.request("cr", csr, duration="25h")
    ready = await ca.ready("cr")
    assert (ready.reason, "at most 24h" in ready.message) == ("Failed", True)


async def test_an_authority_below_one_that_allows_none_is_refused(
    ca: World, leaf_key: EllipticCurvePrivateKey
) -> None:
    now = ca.cluster.clock.now()
    narrow = pki.create_root(pki.parse_name("CN=n"), key_of(), 99 * DAY, now, path_length=0)
    await ca.secret("ca", **held(narrow))
    await ca.issuer(authorities=[{"name": "ca"}])
    csr = pki.write_request(pki.build_request(leaf_key, pki.parse_name("CN=sub"), is_ca=True))
    await ca.request("cr", csr, isCA=True)
    ready = await ca.ready("cr")
    assert ready.reason == "Failed"
    assert "the path length allows no authority below this one" in ready.message


MARKED = "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n"
MARKED_KEY = MARKED.replace("CERTIFICATE", "PRIVATE KEY")
SECRETS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "nothing in it": lambda _: {"other": b"x"},
    "no PEM": lambda _: {"tls_crt": b"x", "tls_key": b"y"},
    "half a certificate": lambda now: {**held(root(now)), "tls_crt": MARKED.encode()},
    "half a key": lambda now: {**held(root(now)), "tls_key": MARKED_KEY.encode()},
    "half a root": lambda now: held(root(now), ca_crt=MARKED.encode()),
    "a stranger as root": lambda now: held(
        root(now), ca_crt=pki.write_certificates(root(now, "other").certificate)
    ),
    "another key": lambda now: {**held(root(now)), "tls_key": pki.write_key(key_of(which="other"))},
    "no authority": lambda now: {
        "tls_crt": pki.write_certificates(
            root(now).issue(
                pki.client_template(pki.parse_name("CN=leaf"), key_of(which="l").public_key(), DAY),
                now,
            )
        ),
        "tls_key": pki.write_key(key_of(which="l")),
    },
    "expired": lambda now: held(root(now - 20 * DAY, lifetime=10 * DAY)),
}
REASONS = {
    "nothing in it": 'secret "ca" has no key "tls.crt"',
    "no PEM": 'secret "ca", key "tls.crt": MalformedPem: no certificate found',
    "half a certificate": 'secret "ca", key "tls.crt": MalformedCertificate: certificate 1 does',
    "half a key": 'secret "ca", key "tls.key": MalformedKey: the private key does not parse',
    "half a root": 'secret "ca", key "ca.crt": MalformedCertificate: certificate 1 does not',
    "a stranger as root": 'secret "ca": BrokenChain: ',
    "another key": 'secret "ca": AuthorityUnfit: the private key does not belong to the certif',
    "no authority": 'secret "ca": AuthorityUnfit: the certificate is not allowed to sign',
    "expired": "no certificate authority is valid now",
}


@pytest.mark.parametrize("fault", SECRETS)
async def test_an_unfit_authority_is_named_until_it_is_mended(
    ca: World, csr: bytes, fault: str
) -> None:
    now = ca.cluster.clock.now()
    await ca.secret("ca", **SECRETS[fault](now))
    await ca.issuer(authorities=[{"name": "ca"}])
    ready = await ca.issuer_ready()
    assert ready.status == "False"
    assert REASONS[fault] in ready.message
    assert "PRIVATE KEY" not in ready.message
    assert "c2VjcmV0" not in ready.message
    await ca.request("cr", csr)
    assert (await ca.ready("cr")).reason == "Pending"
    await ca.cluster.delete(Secret, "ca")
    await ca.secret("ca", **held(root(now)))
    await ca.settle()
    assert (await ca.ready("cr")).reason == "Issued"


async def test_an_authority_that_expires_keeps_requests_waiting(
    embedded_cluster: EmbeddedCluster,
    world_of: Callable[..., Awaitable[Any]],
    csr: bytes,
) -> None:
    """Noticed by whoever comes first: the check that is due, or a request."""
    ca = await world_of(embedded_cluster, app)
    await ca.secret("ca", **held(root(embedded_cluster.clock.now(), lifetime=DAY / 24)))
    await ca.issuer(authorities=[{"name": "ca"}])
    await embedded_cluster.advance(minutes=56)
    assert (await ca.issuer_ready()).status == "True"
    await ca.request("cr", csr)
    assert (await ca.ready("cr")).reason == "Pending"
    ready = await ca.issuer_ready()
    assert ready.status == "False"
    assert "no certificate authority is valid now" in ready.message
    await embedded_cluster.advance(minutes=30)
    assert (await ca.ready("cr")).reason == "Pending"
