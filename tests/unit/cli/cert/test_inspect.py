"""`certwright cert inspect` on files: what is shown, what is found, and the exit code."""

import io
import json
import sys
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from certwright import pki
from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import CertificateRequest
from certwright.cli.cert.contents import (
    Contents,
    of_certificate_request,
    of_pem,
    of_secret,
    of_signing_request,
)
from certwright.cli.cert.diagnostics import Horizon, Severity, diagnose
from certwright.cli.cert.table import table
from certwright.cli.main import main
from certwright.pki.certificates import fingerprint
from certwright.pki.errors import MalformedPem
from certwright.pki.requests import Template

DAY = timedelta(days=1)
NOW = datetime.now(UTC)


def new_key() -> pki.PrivateKey:
    return pki.generate_key(pki.KeySpec())


@pytest.fixture(scope="module")
def shop() -> SimpleNamespace:
    """A root, an intermediate, and a server below it, with their keys."""
    root = pki.create_root(
        pki.parse_name("CN=Shop Root"), new_key(), 1000 * DAY, NOW, path_length=1
    )
    between = pki.create_intermediate(root, pki.parse_name("CN=Shop CA"), new_key(), 300 * DAY, NOW)
    authority = pki.Authority(
        between.certificate, between.key, between.chain,
        pki.Endpoints(("http://shop.example/crl",), ("http://shop.example/ocsp",), ("http://shop.example/ca",)),
    )  # fmt: skip
    key = new_key()
    names = pki.AlternativeNames.of_hosts("web.shop.example", "10.0.0.7")
    template = pki.server_template(pki.parse_name("CN=web"), key.public_key(), 90 * DAY, names)
    leaf = authority.issue(template, NOW)
    return SimpleNamespace(
        root=root, between=between, key=key, leaf=leaf, chain=authority.write_chain(leaf)
    )


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Any]:
    def inspect(*words: bytes | str, stdin: bytes = b"") -> tuple[int | str, str, str]:
        files = [word if isinstance(word, str) else tmp_path / "file.pem" for word in words]
        for word in words:
            if isinstance(word, bytes):
                (tmp_path / "file.pem").write_bytes(word)
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        monkeypatch.setattr(sys, "argv", ["certwright", "cert", "inspect", *map(str, files)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return ended.value.code or 0, captured.out, captured.err

    return inspect


def names_found(material: Contents, now: datetime = NOW, horizon: Horizon = Horizon()) -> list[str]:  # noqa: B008 - frozen
    return [one.name for one in diagnose(material, now, horizon)]


def test_a_chain_is_drawn_and_told(run: Callable[..., Any], shop: SimpleNamespace) -> None:
    code, out, err = run(shop.chain + pki.write_key(shop.key))
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[2].split() == ["CN=Shop", "Root", "not", "included"]
    assert lines[3].startswith("  └─ CN=Shop CA ")
    assert lines[4].startswith("     └─ CN=web ")
    assert "89 days left" in lines[4]
    for row in [
        "dns names      web.shop.example", "addresses      10.0.0.7",
        "usages         digital signature, server auth", "key            ECDSA 256, private key matches",
        "CRL            http://shop.example/crl", "OCSP           http://shop.example/ocsp",
        "issued by      http://shop.example/ca", "authority      path length 0",
        f"SHA-256        {fingerprint(shop.leaf)}",
    ]:  # fmt: skip
        assert f"  {row}" in lines
    assert lines[-1] == "no findings"
    assert "PRIVATE KEY" not in out


def test_everything_is_there_as_json(run: Callable[..., Any], shop: SimpleNamespace) -> None:
    code, out, _ = run("-", "-o", "json", stdin=shop.chain + pki.write_key(shop.key))
    assert code == 0
    (report,) = json.loads(out)
    leaf, between = report["certificates"]
    assert leaf["names"] == {"dns": ["web.shop.example"], "ip": ["10.0.0.7"]}
    assert leaf["extendedUsages"] == ["server auth"]
    assert leaf["notAfter"] == pki.Validity.of(shop.leaf).not_after.isoformat().replace(
        "+00:00", "Z"
    )
    assert (between["isAuthority"], between["pathLength"]) == (True, 0)
    assert report["privateKey"] == "ECDSA 256"
    assert report["findings"] == []


def test_another_key_is_an_error(run: Callable[..., Any], shop: SimpleNamespace) -> None:
    code, out, _ = run(shop.chain + pki.write_key(new_key()))
    assert code == 1
    assert "private key DOES NOT MATCH" in out
    assert "ERROR    KeyMismatch  certificate 1: " in out


def test_an_expiry_that_was_asked_about_is_an_error(
    run: Callable[..., Any], shop: SimpleNamespace
) -> None:
    assert run(shop.chain)[0] == 0
    code, out, _ = run(shop.chain, "--expires-within", "2400h")
    assert code == 1
    assert "ERROR    ExpiresSoon  certificate 1: " in out


def test_the_linter_is_asked_on_demand(
    run: Callable[..., Any], shop: SimpleNamespace, recwarn: pytest.WarningsRecorder
) -> None:
    weak = pki.parse_usages(["digital signature", "server auth"])
    csr = pki.build_request(
        new_key(), pki.parse_name("CN=w"), pki.AlternativeNames(dns=("*.a.example",)), usages=weak
    )
    request = pki.read_request(pki.write_request(csr))
    leaf = shop.between.issue_request(request, pki.RequestTerms(DAY * 60, usages=weak), NOW)
    code, out, _ = run(pki.write_certificates(leaf), "--lint")
    assert code == 1
    assert "ERROR    pkix.invalid_domain_name_syntax  certificate 1: " in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["nowhere.pem"], "cannot read nowhere.pem: No such file or directory\n"),
        (["certificate/web"], "No such file or directory; objects are secret/NAME, cr/NAME"),
        ([b"no PEM at all"], "neither a certificate, a signing request nor a private key found"),
        ([b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"], "does not parse"),
        ([b"x" * (1 << 20 | 1)], "larger than the maximum"),
        (["-", "-o", "yaml"], "--output yaml: choose table or json"),
        (["-", "--expires-within", "soon"], "--expires-within: "),
    ],
)
def test_what_cannot_be_read_is_one_line(
    run: Callable[..., Any], words: list[bytes | str], complaint: str
) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_help_ends_with_examples(run: Callable[..., Any]) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert "certwright cert inspect secret/web-tls -n shop" in out.partition("Examples:")[2]


def test_names_cannot_talk_to_the_terminal(shop: SimpleNamespace) -> None:
    csr = pki.build_request(new_key(), pki.distinguished_name("a\x1b[2Jb"))
    request = pki.read_request(pki.write_request(csr))
    assert "\x1b" not in table(Contents("x", request=request), [], NOW)


def test_a_certificate_out_of_its_time_is_an_error(shop: SimpleNamespace) -> None:
    material = of_pem("x", shop.chain)
    assert "Expired" in names_found(material, NOW + 91 * DAY)
    assert "NotYetValid" in names_found(material, NOW - DAY)
    assert names_found(material, NOW + 70 * DAY) == ["ExpiresSoon"]
    (finding,) = diagnose(material, NOW + 70 * DAY, Horizon())
    assert finding.severity is Severity.WARNING


def test_a_broken_chain_is_an_error_and_a_root_in_it_a_notice(shop: SimpleNamespace) -> None:
    stranger = pki.create_root(pki.parse_name("CN=Stranger"), new_key(), DAY * 99, NOW)
    broken = shop.chain + pki.write_certificates(stranger.certificate)
    assert names_found(of_pem("x", broken)) == ["BrokenChain"]
    whole = of_pem("x", shop.chain + pki.write_certificates(shop.root.certificate))
    (finding,) = diagnose(whole, NOW, Horizon())
    assert (finding.name, finding.severity) == ("RootInChain", Severity.NOTICE)


def test_roots_side_by_side_are_a_bundle_and_no_chain(shop: SimpleNamespace) -> None:
    other = pki.create_root(pki.parse_name("CN=Other Root"), new_key(), 99 * DAY, NOW)
    bundle = of_pem("x", pki.write_bundle([shop.root.certificate, other.certificate]))
    assert names_found(bundle) == []
    assert "CN=Other Root" in table(bundle, [], NOW)


def test_a_server_without_names_is_worth_a_warning(shop: SimpleNamespace) -> None:
    template = pki.server_template(
        pki.parse_name("CN=web"), new_key().public_key(), 60 * DAY, pki.AlternativeNames()
    )
    bare = Template(template.subject, template.public_key, template.lifetime, None, template.usages)
    leaf = shop.between.issue(bare, NOW)
    assert names_found(of_pem("x", pki.write_certificates(leaf))) == ["NoAlternativeNames"]


def test_a_secret_is_verified_against_its_own_root(shop: SimpleNamespace) -> None:
    good = {
        "tls.crt": shop.chain, "tls.key": pki.write_key(shop.key),
        "ca.crt": pki.write_certificates(shop.root.certificate),
    }  # fmt: skip
    material = of_secret("Secret shop/web", good)
    assert names_found(material) == []
    text = table(material, [], NOW)
    assert "CN=Shop Root" in text
    assert text.splitlines()[2].endswith("trusted")
    other = pki.create_root(pki.parse_name("CN=Other"), new_key(), 99 * DAY, NOW)
    forged = {**good, "ca.crt": pki.write_certificates(other.certificate)}
    assert names_found(of_secret("x", forged)) == ["NoPath"]


def test_a_secret_with_other_keys_is_read_all_the_same(shop: SimpleNamespace) -> None:
    data = {"cert.pem": shop.chain, "key.pem": pki.write_key(shop.key), "readme": b"hello"}
    material = of_secret("x", data)
    assert (len(material.certificates), material.key is not None) == (2, True)
    only_root = of_secret("x", {"ca.crt": pki.write_certificates(shop.root.certificate)})
    assert only_root.certificates == (shop.root.certificate,)
    with pytest.raises(MalformedPem):
        of_secret("x", {"password": b"hunter2"})


def certificate_request(shop: SimpleNamespace, **spec: Any) -> CertificateRequest:
    csr = pki.build_request(
        shop.key,
        pki.parse_name("CN=web"),
        pki.AlternativeNames.of_hosts("web.shop.example", "10.0.0.7"),
    )
    return msgspec.convert(
        {
            "apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest", "metadata": {"name": "web"},
            "spec": {
                "request": encoded(pki.write_request(csr)), "issuerRef": {"name": "ca"},
                "duration": "2160h", "usages": ["digital signature", "server auth"], **spec,
            },
            "status": {
                "certificate": encoded(shop.chain), "ca": encoded(pki.write_certificates(shop.root.certificate)),
                "conditions": [{"type": "Ready", "status": "True", "reason": "Issued", "message": "done", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            },
        },
        CertificateRequest,
    )  # fmt: skip


def encoded(data: bytes) -> str:
    return b64encode(data).decode()


def test_a_certificate_request_is_held_against_what_was_asked_for(shop: SimpleNamespace) -> None:
    material = of_certificate_request("x", certificate_request(shop))
    assert names_found(material) == []
    assert "Ready=True Issued: done" in table(material, [], NOW)
    asked = certificate_request(shop, duration="24h", usages=["client auth"])
    found = names_found(of_certificate_request("x", asked))
    assert set(found) == {"DurationMismatch", "MissingUsage", "ExtraUsage"}


def test_a_request_alone_is_shown(shop: SimpleNamespace) -> None:
    csr = pki.build_request(
        shop.key, pki.parse_name("CN=web"), is_ca=True, usages=pki.parse_usages(["cert sign"])
    )
    text = table(of_pem("x", pki.write_request(csr)), [], NOW)
    assert "signing request: CN=web" in text
    assert "authority      yes" in text
    assert "usages         cert sign" in text
    mixed = of_pem("x", pki.write_request(csr) + pki.write_key(new_key()))
    assert names_found(mixed) == ["KeyMismatch"]


def test_kubernetes_own_requests_are_read_too(shop: SimpleNamespace) -> None:
    csr = pki.build_request(shop.key, pki.parse_name("CN=web"))
    request = msgspec.convert(
        {
            "apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": "web"},
            "spec": {"request": encoded(pki.write_request(csr)), "signerName": "a/b"},
            "status": {"certificate": encoded(shop.chain), "conditions": [{"type": "Approved", "status": "True", "reason": "R", "message": "M"}]},
        },
        CertificateSigningRequest,
    )  # fmt: skip
    material = of_signing_request("x", request)
    assert len(material.certificates) == 2
    assert material.conditions == ("Approved=True R: M",)


def test_a_key_alone_is_named_only(shop: SimpleNamespace) -> None:
    pem = pki.write_key(shop.key)
    text = table(of_pem("x", pem), [], NOW)
    assert "private key    ECDSA 256" in text
    assert pem.decode().splitlines()[1] not in text
