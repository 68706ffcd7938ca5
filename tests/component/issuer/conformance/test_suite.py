"""The test class, subclassed as the author of an issuer would."""

import pytest

pytest_plugins = ["pytester"]

BROKEN = '''
from datetime import timedelta
from dataclasses import dataclass

import pytest

from certwright import pki
from certwright.issuer import Bundle, IssuerApp
from certwright.issuer.conformance import Feature, IssuerConformance


@dataclass(frozen=True)
class Spec:
    """Nothing to say."""


app = IssuerApp(group="broken.example.com", kind="BrokenIssuer", spec=Spec, set_ca=True)
KEY = pki.generate_key(pki.KeySpec())


@app.sign
async def sign(request, issuer):
    name = pki.distinguished_name("broken")
    root = pki.create_root(name, KEY, timedelta(days=3650), issuer.now)
    template = pki.server_template(
        request.csr.subject, request.csr.public_key, timedelta(days=1), request.names
    )
    return Bundle(root.write_chain(root.issue(template, request.now)))


class TestBroken(IssuerConformance):
    app = app
    unsupported = {Feature.KUBERNETES_CSRS: "nobody asked", Feature.SAVE_CA: "it keeps it"}
'''


def test_a_broken_issuer_fails_by_the_name_of_the_case(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(BROKEN)
    asked = ("-k", "one-dns-name and CertificateRequest or denied", "-o", "asyncio_mode=auto")
    result = pytester.runpytest_subprocess("-p", "no:randomly", "-rsf", *asked)
    result.stdout.fnmatch_lines(["*DurationMismatch: it is valid for 1 day*"])
    result.stdout.fnmatch_lines(["FAILED *test_conforms?CertificateRequest-one-dns-name?*"])
    result.stdout.fnmatch_lines(["SKIPPED*KubernetesCSRs is unsupported: nobody asked"])
    result.assert_outcomes(passed=1, failed=3, skipped=1)


REPAIRED = '''
from dataclasses import dataclass

from certwright import pki
from certwright.issuer import Bundle, IssuerApp
from certwright.issuer.conformance import IssuerConformance
from datetime import timedelta


@dataclass(frozen=True)
class Spec:
    """Nothing to say."""


app = IssuerApp(group="rootish.example.com", kind="RootishIssuer", spec=Spec, set_ca=True)
KEY = pki.generate_key(pki.KeySpec())


@app.sign
async def sign(request, issuer):
    root = pki.create_root(pki.parse_name("CN=root"), KEY, timedelta(days=3650), request.now)
    leaf = root.issue(request.template(), request.now)
    return Bundle(pki.write_certificates(root.certificate, leaf))


class TestRootish(IssuerConformance):
    app = app
'''


def test_a_chain_that_the_library_repairs_passes_with_a_warning(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(REPAIRED)
    asked = ("-k", "CertificateRequest-one-dns-name and not key", "-o", "asyncio_mode=auto")
    result = pytester.runpytest_subprocess("-p", "no:randomly", *asked)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*the authority's chain was repaired: RootInChain: *"])
