"""Certificates as plain values: keys, names, requests, authorities, chains, renewal, trust.

No Kubernetes, no input or output, no clock: bytes and values go in, values and bytes come
out, ``now`` is an argument. Everything that reads takes hostile input: sizes are checked
before parsing and every refusal is a `PkiError` with a name. Checks return lists of named
violations or raise them.

::

    pem  keys  names  usages    the elements of certificates
    requests                    signing requests, and templates of what is to be signed
    certificates                read and written, alone and in trust bundles
    authority  rotation         signs; how one authority follows another
    pairs                       a certificate with its key, as Secrets hold them
    chains  constraints  paths  order chains, and verify them up to a trusted root
    matches  renewal            compare with the request; when to renew
    errors                      every refusal, by name
"""

from certwright.pki.authority import (
    Authority,
    Endpoints,
    create_intermediate,
    create_root,
    self_sign,
)
from certwright.pki.certificates import (
    Validity,
    read_bundle,
    read_certificate,
    read_certificates,
    write_bundle,
    write_certificates,
)
from certwright.pki.chains import Chain, read_chain
from certwright.pki.errors import (
    AuthorityUnfit,
    BrokenChain,
    CertificateRefused,
    MalformedInput,
    PathRefused,
    PkiError,
    RequestRefused,
    TooLarge,
    UnknownUsage,
    UnsupportedKey,
    Violation,
)
from certwright.pki.keys import (
    KeyAlgorithm,
    KeySpec,
    PrivateKey,
    generate_key,
    key_spec,
    read_key,
    write_key,
)
from certwright.pki.matches import certificate_violations, check_certificate, check_key_pair
from certwright.pki.names import AlternativeNames, distinguished_name, format_name, parse_name
from certwright.pki.paths import verify_path
from certwright.pki.renewal import RenewalPolicy, renewal_time
from certwright.pki.requests import (
    RequestTerms,
    SigningRequest,
    build_request,
    check_request,
    client_template,
    read_request,
    request_template,
    server_template,
    write_request,
)
from certwright.pki.rotation import Rotation
from certwright.pki.usages import parse_usages

__all__ = [
    "AlternativeNames",
    "Authority",
    "AuthorityUnfit",
    "BrokenChain",
    "CertificateRefused",
    "Chain",
    "Endpoints",
    "KeyAlgorithm",
    "KeySpec",
    "MalformedInput",
    "PathRefused",
    "PkiError",
    "PrivateKey",
    "RenewalPolicy",
    "RequestRefused",
    "RequestTerms",
    "Rotation",
    "SigningRequest",
    "TooLarge",
    "UnknownUsage",
    "UnsupportedKey",
    "Validity",
    "Violation",
    "build_request",
    "certificate_violations",
    "check_certificate",
    "check_key_pair",
    "check_request",
    "client_template",
    "create_intermediate",
    "create_root",
    "distinguished_name",
    "format_name",
    "generate_key",
    "key_spec",
    "parse_name",
    "parse_usages",
    "read_bundle",
    "read_certificate",
    "read_certificates",
    "read_chain",
    "read_key",
    "read_request",
    "renewal_time",
    "request_template",
    "self_sign",
    "server_template",
    "verify_path",
    "write_bundle",
    "write_certificates",
    "write_key",
    "write_request",
]
