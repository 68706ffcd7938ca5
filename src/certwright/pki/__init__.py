"""Certificates as plain values: keys, names, requests, authorities, chains, renewal, trust.

No Kubernetes, no input or output, no clock: bytes and values go in, values and bytes come
out, ``now`` is an argument. Everything that reads takes hostile input: sizes are checked
before parsing and every refusal is a `PkiError` with a name. Checks return lists of named
violations or raise them; none answers with a bare yes or no.

::

    pem  keys  names  usages          the elements of certificates
    requests  certificates  templates signing requests, certificates, what is to be signed
    authority                         signs
    chains  constraints  paths        order chains, and verify them up to a trusted root
    matching  renewal  bundles        compare with the request, when to renew, whom to trust
"""

from certwright.pki.authority import (
    Authority,
    Endpoints,
    Revocation,
    create_intermediate,
    create_root,
    new_serial,
    self_sign,
    write_revocation_list,
)
from certwright.pki.bundles import (
    Rotation,
    read_bundle,
    write_bundle,
)
from certwright.pki.certificates import (
    BACKDATING,
    Validity,
    alternative_names,
    extension,
    fingerprint,
    is_authority,
    public_key_of,
    read_certificate,
    read_certificates,
    usages_of,
    write_certificates,
)
from certwright.pki.chains import (
    Chain,
    is_self_signed,
    order_chain,
    read_chain,
)
from certwright.pki.errors import (
    AuthorityUnfit,
    BrokenChain,
    CertificateRefused,
    MalformedCertificate,
    MalformedInput,
    MalformedKey,
    MalformedName,
    MalformedPem,
    MalformedRequest,
    PathRefused,
    PkiError,
    Refused,
    RenewalPolicyError,
    RequestRefused,
    TooLarge,
    UnknownUsage,
    UnsupportedKey,
    Violation,
)
from certwright.pki.keys import (
    KeyAlgorithm,
    KeyEncoding,
    KeySpec,
    PrivateKey,
    PublicKey,
    check_primes,
    generate_key,
    key_spec,
    public_key_bytes,
    read_key,
    write_key,
)
from certwright.pki.matches import (
    certificate_violations,
    chain_violations,
    check_certificate,
    check_key_pair,
)
from certwright.pki.names import (
    AlternativeNames,
    common_name,
    distinguished_name,
    format_name,
    other_name,
    parse_name,
)
from certwright.pki.paths import (
    verify_path,
)
from certwright.pki.pem import (
    Block,
    read_blocks,
    write_block,
)
from certwright.pki.renewal import (
    RenewalPolicy,
    renewal_time,
    stable_jitter,
)
from certwright.pki.requests import (
    RequestTerms,
    SigningRequest,
    build_request,
    check_request,
    read_request,
    request_violations,
    write_request,
)
from certwright.pki.templates import (
    Template,
    authority_template,
    client_template,
    peer_template,
    request_template,
    server_template,
)
from certwright.pki.usages import (
    DEFAULT_USAGES,
    Usages,
    parse_usages,
)

__all__ = [
    "BACKDATING",
    "DEFAULT_USAGES",
    "AlternativeNames",
    "Authority",
    "AuthorityUnfit",
    "Block",
    "BrokenChain",
    "CertificateRefused",
    "Chain",
    "Endpoints",
    "KeyAlgorithm",
    "KeyEncoding",
    "KeySpec",
    "MalformedCertificate",
    "MalformedInput",
    "MalformedKey",
    "MalformedName",
    "MalformedPem",
    "MalformedRequest",
    "PathRefused",
    "PkiError",
    "PrivateKey",
    "PublicKey",
    "Refused",
    "RenewalPolicy",
    "RenewalPolicyError",
    "RequestRefused",
    "RequestTerms",
    "Revocation",
    "Rotation",
    "SigningRequest",
    "Template",
    "TooLarge",
    "UnknownUsage",
    "UnsupportedKey",
    "Usages",
    "Validity",
    "Violation",
    "alternative_names",
    "authority_template",
    "build_request",
    "certificate_violations",
    "chain_violations",
    "check_certificate",
    "check_key_pair",
    "check_primes",
    "check_request",
    "client_template",
    "common_name",
    "create_intermediate",
    "create_root",
    "distinguished_name",
    "extension",
    "fingerprint",
    "format_name",
    "generate_key",
    "is_authority",
    "is_self_signed",
    "key_spec",
    "new_serial",
    "order_chain",
    "other_name",
    "parse_name",
    "parse_usages",
    "peer_template",
    "public_key_bytes",
    "public_key_of",
    "read_blocks",
    "read_bundle",
    "read_certificate",
    "read_certificates",
    "read_chain",
    "read_key",
    "read_request",
    "renewal_time",
    "request_template",
    "request_violations",
    "self_sign",
    "server_template",
    "stable_jitter",
    "usages_of",
    "verify_path",
    "write_block",
    "write_bundle",
    "write_certificates",
    "write_key",
    "write_request",
    "write_revocation_list",
]
