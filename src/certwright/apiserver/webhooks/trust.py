"""Whether the certificate of a webhook is good, said in the words of Go's TLS. Pure."""

from datetime import UTC, datetime
from ipaddress import ip_address

from certwright import pki
from certwright.kube.timestamps import format_time
from certwright.pki.certificates import alternative_names

_PREFIX = "tls: failed to verify certificate: x509: "


def certificate_failure(
    chain: bytes, authorities: bytes, server_name: str, now: datetime, *, is_trusted: bool = False
) -> str:
    """Return why a chain (PEM, the server's own certificate first) is not good; empty if it is.

    With *is_trusted*, a path to an authority is known to exist.
    """
    leaf, *others = pki.read_certificates(chain)
    now = now.astimezone(UTC).replace(microsecond=0)
    first, last = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if now < first or now > last:
        side, limit = ("before", first) if now < first else ("after", last)
        when = f"current time {format_time(now)} is {side} {format_time(limit)}"
        return f"{_PREFIX}certificate has expired or is not yet valid: {when}"
    if failure := _name_failure(alternative_names(leaf), server_name):
        return _PREFIX + failure
    if is_trusted:
        return ""
    try:
        roots = pki.read_certificates(authorities) if authorities.strip() else []
        pki.verify_path(leaf, roots=roots, intermediates=others, now=now)
    except pki.PkiError:
        return f"{_PREFIX}certificate signed by unknown authority"
    return ""


def _name_failure(names: pki.AlternativeNames, wanted: str) -> str:
    try:
        address = ip_address(wanted)
    except ValueError:
        if any(_matches(name.lower(), wanted.lower()) for name in names.dns):
            return ""
        if not names.dns:
            return f"certificate is not valid for any names, but wanted to match {wanted}"
        return f"certificate is valid for {', '.join(names.dns)}, not {wanted}"
    if address in names.ips:
        return ""
    if not names.ips:
        return f"cannot validate certificate for {wanted} because it doesn't contain any IP SANs"
    return f"certificate is valid for {', '.join(str(ip) for ip in names.ips)}, not {wanted}"


def _matches(pattern: str, host: str) -> bool:
    if pattern.startswith("*."):
        return host.partition(".")[2] == pattern[2:]
    return pattern == host
