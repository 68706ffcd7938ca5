"""Names: distinguished names as text and back, alternative names as plain values.

Text is RFC 4514, which is also what cert-manager's ``literalSubject`` holds: the first attribute
written is the last of the encoded sequence. ``CN=web,O=shop,C=DE`` is the sequence C, O, CN.
"""

import ipaddress
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from cryptography import x509
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID, ObjectIdentifier

from certwright.pki.errors import MalformedName, TooLarge, quoted

NAME_LIMIT = 16_384
"""Characters of a distinguished name as text."""

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

_OIDS = {
    "C": NameOID.COUNTRY_NAME,
    "O": NameOID.ORGANIZATION_NAME,
    "OU": NameOID.ORGANIZATIONAL_UNIT_NAME,
    "CN": NameOID.COMMON_NAME,
    "SERIALNUMBER": NameOID.SERIAL_NUMBER,
    "L": NameOID.LOCALITY_NAME,
    "ST": NameOID.STATE_OR_PROVINCE_NAME,
    "STREET": NameOID.STREET_ADDRESS,
    "POSTALCODE": NameOID.POSTAL_CODE,
    "DC": NameOID.DOMAIN_COMPONENT,
    "UID": NameOID.USER_ID,
    "SN": NameOID.SURNAME,
    "GN": NameOID.GIVEN_NAME,
    "T": NameOID.TITLE,
    "EMAILADDRESS": NameOID.EMAIL_ADDRESS,
}
_KEYWORDS = {oid: keyword for keyword, oid in _OIDS.items()}
_DOTTED = re.compile(r"[0-2](\.(0|[1-9][0-9]{0,9})){1,20}")
_SPECIAL = frozenset('"+,;<>\\')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_HEX = frozenset("0123456789abcdefABCDEF")
_SHORT_FORM = 127  # bytes that DER counts in one byte


DistinguishedName: TypeAlias = x509.Name
"""For those who pass names on without looking into them."""


def parse_name(text: str) -> x509.Name:
    r"""Read a distinguished name such as ``CN=web+UID=7,O=Shop\, Inc,C=DE``.

    Keywords are read in either case, other attribute types as dotted numbers. Spaces
    around separators do not count. The empty text is the empty name.

    Raises:
        TooLarge: more than 16,384 characters.
        MalformedName: the text is not a distinguished name, or a value does not fit its type.
    """
    if len(text) > NAME_LIMIT:
        raise TooLarge(f"a name of {len(text)} characters is larger than {NAME_LIMIT}")
    if not text.strip():
        return x509.Name([])
    try:
        written = [[_attribute(atom) for atom in rdn] for rdn in _atoms(text)]
        return x509.Name([x509.RelativeDistinguishedName(rdn) for rdn in reversed(written)])
    except (ValueError, TypeError) as error:
        raise MalformedName(f"{quoted(text)} is not a distinguished name: {error}") from error


def format_name(name: x509.Name) -> str:
    """Write a distinguished name as RFC 4514; `parse_name` reads it back to an equal name."""
    return ",".join(
        "+".join(_written(attribute) for attribute in rdn) for rdn in reversed(name.rdns)
    )


def distinguished_name(common_name: str = "", organizations: Iterable[str] = ()) -> x509.Name:
    """Make the usual name: organizations, then the common name; empty ones are left out.

    Raises:
        MalformedName: a value does not fit.
    """
    values = [(NameOID.ORGANIZATION_NAME, value) for value in organizations]
    if common_name:
        values.append((NameOID.COMMON_NAME, common_name))
    try:
        return x509.Name([x509.NameAttribute(oid, value) for oid, value in values])
    except (ValueError, TypeError) as error:
        raise MalformedName(f"no distinguished name can hold these values: {error}") from error


def common_name(name: x509.Name) -> str:
    """Return the last common name, as Go reads it, or the empty string."""
    found = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    value = found[-1].value if found else ""
    return value if isinstance(value, str) else ""


def other_name(oid: str, text: str) -> x509.GeneralName:
    """Make an alternative name whose kind is an OID, such as a user principal name.

    Raises:
        MalformedName: the OID is none, or the text is longer than 127 bytes.
    """
    value = text.encode()
    if len(value) > _SHORT_FORM:
        raise MalformedName(f"{quoted(text)} is longer than {_SHORT_FORM} bytes")
    header = bytes([_ASN1Type.UTF8String.value, len(value)])
    try:
        return x509.OtherName(ObjectIdentifier(oid), header + value)
    except ValueError as error:
        raise MalformedName(f"{quoted(oid)} is not an object identifier") from error


@dataclass(frozen=True, slots=True)
class AlternativeNames:
    """Subject alternative names by kind. ``others`` holds directory and other names as they are."""

    dns: tuple[str, ...] = ()
    ips: tuple[IpAddress, ...] = ()
    emails: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()
    others: tuple[x509.GeneralName, ...] = ()

    @classmethod
    def of_hosts(cls, *hosts: str) -> "AlternativeNames":
        """Sort hosts into addresses and DNS names."""
        dns: list[str] = []
        ips: list[IpAddress] = []
        for host in hosts:
            try:
                ips.append(ipaddress.ip_address(host))
            except ValueError:
                dns.append(host)
        return cls(dns=tuple(dns), ips=tuple(ips))

    @classmethod
    def of_extension(cls, extension: x509.SubjectAlternativeName) -> "AlternativeNames":
        """Take an extension apart. Nothing is lost but the order between kinds."""
        dns: list[str] = []
        ips: list[IpAddress] = []
        emails: list[str] = []
        uris: list[str] = []
        others: list[x509.GeneralName] = []
        for name in extension:
            match name:
                case x509.DNSName():
                    dns.append(name.value)
                case x509.IPAddress(
                    value=ipaddress.IPv4Address() | ipaddress.IPv6Address() as address
                ):
                    ips.append(address)
                case x509.RFC822Name():
                    emails.append(name.value)
                case x509.UniformResourceIdentifier():
                    uris.append(name.value)
                case _:
                    others.append(name)
        return cls(tuple(dns), tuple(ips), tuple(emails), tuple(uris), tuple(others))

    def to_extension(self) -> x509.SubjectAlternativeName:
        """Put an extension together.

        Raises:
            MalformedName: a name holds what certificates cannot carry; use punycode for
                international domain names.
        """
        try:
            return x509.SubjectAlternativeName(
                [
                    *(x509.DNSName(name) for name in self.dns),
                    *(x509.IPAddress(address) for address in self.ips),
                    *(x509.RFC822Name(address) for address in self.emails),
                    *(x509.UniformResourceIdentifier(uri) for uri in self.uris),
                    *self.others,
                ]
            )
        except (ValueError, TypeError) as error:
            raise MalformedName(f"no alternative names can hold these values: {error}") from error

    def __len__(self) -> int:
        return sum(map(len, (self.dns, self.ips, self.emails, self.uris, self.others)))

    def as_set(self) -> frozenset[str]:
        """Return every name as ``kind:value``, DNS names in lower case, for comparison."""
        return frozenset(
            [
                *(f"DNS:{name.lower()}" for name in self.dns),
                *(f"IP:{address}" for address in self.ips),
                *(f"email:{address}" for address in self.emails),
                *(f"URI:{uri}" for uri in self.uris),
                *(f"other:{name!r}" for name in self.others),
            ]
        )


def control_characters(name: x509.Name, alternatives: AlternativeNames) -> list[str]:
    """Return the values with NUL or other control characters: two readers may see two names."""
    values = [*alternatives.dns, *alternatives.emails, *alternatives.uris]
    for rdn in name.rdns:  # bytes are bit strings, which are not printed
        values += [one.value for one in rdn if isinstance(one.value, str)]
    return [value for value in values if _CONTROL.search(value)]


def _atoms(text: str) -> list[list[str]]:
    """Split at unescaped commas (or semicolons, RFC 2253) and plus signs."""
    names: list[list[str]] = [[]]
    start, position, in_quotes = 0, 0, False
    while position < len(text):
        char = text[position]
        if char == "\\":
            position += 1
        elif char == '"':
            in_quotes = not in_quotes
        elif char in ",;+" and not in_quotes:
            names[-1].append(text[start:position])
            start = position + 1
            if char != "+":
                names.append([])
        position += 1
    if in_quotes:
        raise ValueError("a quotation mark is not closed")
    names[-1].append(text[start:])
    return names


def _attribute(atom: str) -> x509.NameAttribute[str] | x509.NameAttribute[bytes]:
    kind, equals, value = atom.partition("=")
    kind = kind.strip()
    if not equals:
        raise ValueError(f"{quoted(atom)} has no equals sign")
    oid = _OIDS.get(kind.upper())
    if oid is None:
        if not _DOTTED.fullmatch(kind):
            raise ValueError(f"unknown attribute type {quoted(kind)}")
        oid = ObjectIdentifier(kind)
    value = value.lstrip(" ")
    if value.startswith("#"):
        return _encoded(oid, value.strip(" "))
    return x509.NameAttribute(oid, _unescaped(value))


def _encoded(
    oid: ObjectIdentifier, value: str
) -> x509.NameAttribute[str] | x509.NameAttribute[bytes]:
    """Read ``#0C0161``: the value as BER. Only short strings of the usual types are read."""
    raw = bytes.fromhex(value[1:])
    if len(raw) < 2 or raw[1] > 127 or raw[1] != len(raw) - 2:
        raise ValueError(f"{quoted(value)} is not an encoded string")
    kind = _ASN1Type(raw[0])
    if kind is _ASN1Type.BitString:
        return x509.NameAttribute(oid, raw[2:], kind)
    if kind not in {_ASN1Type.UTF8String, _ASN1Type.PrintableString, _ASN1Type.IA5String}:
        raise ValueError(f"{quoted(value)} is not an encoded string")
    return x509.NameAttribute(oid, raw[2:].decode(), kind)


def _unescaped(value: str) -> str:
    """Resolve escapes and quotation marks, and cut the spaces that are not escaped."""
    out = bytearray()
    kept = position = 0  # bytes that trailing spaces must not be cut from; place in the text
    in_quotes = False
    while position < len(value):
        char = value[position]
        if char == "\\":
            taken = _escape(value, position + 1)
            out += taken[0]
            position += taken[1]
            kept = len(out)
        elif char == '"':
            in_quotes = not in_quotes
            kept = len(out)
        else:
            out += char.encode()
            if char != " " or in_quotes:
                kept = len(out)
        position += 1
    return bytes(out[:kept]).decode()


def _escape(value: str, position: int) -> tuple[bytes, int]:
    pair = value[position : position + 2]
    if len(pair) == 2 and set(pair) <= _HEX:
        return bytes.fromhex(pair), 2
    if pair[:1] and pair[0] in _SPECIAL | {" ", "#", "="}:
        return pair[0].encode(), 1
    raise ValueError(f"{quoted(value)} holds an escape that means nothing")


def _written(attribute: x509.NameAttribute[str | bytes]) -> str:
    keyword = _KEYWORDS.get(attribute.oid, attribute.oid.dotted_string)
    value = attribute.value
    if isinstance(value, bytes):
        header = bytes([_ASN1Type.BitString.value, len(value)]).hex()
        return f"{keyword}=#{header}{value.hex()}"
    return f"{keyword}={_escaped(value)}"


def _escaped(value: str) -> str:
    out = [
        f"\\{char}" if char in _SPECIAL else f"\\{ord(char):02X}" if ord(char) < 32 else char
        for char in value
    ]
    if out and out[0] in {" ", "#"}:
        out[0] = "\\" + out[0]
    if len(out) > 1 and out[-1] == " ":
        out[-1] = "\\ "
    return "".join(out)
