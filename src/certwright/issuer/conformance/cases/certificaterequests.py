"""The CertificateRequest cases: what cert-manager's suite asks by Certificate, as requests.

Cases of that suite that are about Ingresses and Gateways do not reach an issuer and are not
here; those about issuing again are behaviours.
"""

from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address
from typing import Any, Final

from certwright.issuer.conformance.cases.case import ECDSA, ED25519, Case, required_features
from certwright.pki import AlternativeNames
from certwright.pki.names import other_name

USER_PRINCIPAL_NAME: Final = "1.3.6.1.4.1.311.20.2.3"
_LONG_LABEL: Final = "a" * 63
_SPIFFE: Final = "spiffe://cluster.local/ns/sandbox/sa/foo"

_DNS = AlternativeNames(dns=("one.example.com",))
_IP = ip_address("192.0.2.7")


def _case(name: str, **requested: Any) -> Case:
    case = Case("CertificateRequest", name, **requested)
    return replace(case, needs=required_features(case))


CERTIFICATE_CASES: Final[tuple[Case, ...]] = (
    _case("one DNS name", names=_DNS),
    _case("a certificate authority", names=_DNS, is_ca=True),
    _case("one DNS name, ECDSA key", names=_DNS, key=ECDSA),
    _case("one DNS name, Ed25519 key", names=_DNS, key=ED25519),
    _case("only a common name", common_name="common.example.com"),
    _case(
        "user principal names beside an e-mail address",
        common_name="principal.example.com",
        names=AlternativeNames(
            emails=("principal@example.com",),
            others=tuple(
                other_name(USER_PRINCIPAL_NAME, user)
                for user in ("first@corp.example.com", "second@corp.example.com")
            ),
        ),
    ),
    _case(
        "a literal subject with a repeated attribute and a wildcard",
        subject="CN=*.example.com,OU=Printers,OU=Paper,O=Example,L=Lund,ST=Skane,C=SE",
        names=AlternativeNames(dns=("*.example.com",)),
    ),
    _case("only a common name, ECDSA key", common_name="common.example.com", key=ECDSA),
    _case("only a common name, Ed25519 key", common_name="common.example.com", key=ED25519),
    _case("an IP address", names=AlternativeNames(ips=(_IP,))),
    _case("a DNS name and an IP address", names=AlternativeNames(dns=_DNS.dns, ips=(_IP,))),
    _case(
        "a common name and an IP address",
        common_name="common.example.com",
        names=AlternativeNames(ips=(_IP,)),
    ),
    _case("an e-mail address", names=AlternativeNames(emails=("somebody@example.com",))),
    _case(
        "a common name and a URI",
        common_name="common.example.com",
        names=AlternativeNames(uris=(_SPIFFE,)),
    ),
    _case(
        "two DNS names, one also the common name",
        common_name="one.example.com",
        names=AlternativeNames(dns=("one.example.com", "two.example.com")),
    ),
    _case("a DNS name and another common name", common_name="common.example.com", names=_DNS),
    _case("a lifetime of 896 hours", names=_DNS, lifetime=timedelta(hours=896)),
    _case("a wildcard", names=AlternativeNames(dns=("*.wild.example.com",))),
    _case("a URI", names=AlternativeNames(uris=(_SPIFFE,))),
    _case(
        "four usages",
        names=_DNS,
        usages=("signing", "data encipherment", "server auth", "client auth"),
    ),
    _case("a label of 63 characters", names=AlternativeNames(dns=(f"{_LONG_LABEL}.example.com",))),
    _case(
        "a wildcard and its parent",
        names=AlternativeNames(dns=("*.wild.example.com", "wild.example.com")),
    ),
)
