"""Issuers whose certificates are not what was asked for: key, names, subject, usages, lifetime."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

from cryptography.x509 import Certificate, Extension, ExtensionType, KeyUsage
from tests.component.issuer.conformance.bare import Bare, new_root, resigned
from tests.component.issuer.conformance.faulty.fault import fault

from certwright import pki
from certwright.pki import AlternativeNames, Authority, RequestTerms, SigningRequest
from certwright.pki.requests import Template

DAY = timedelta(days=1)
AUTHORITY = "a certificate authority"
TWO_NAMES = "two DNS names, one also the common name"
OTHER_COMMON_NAME = "a DNS name and another common name"
LITERAL = "a literal subject with a repeated attribute and a wildcard"
PRINCIPALS = "user principal names beside an e-mail address"


class Wrong(Bare):
    """Signs another template than was asked for."""

    def template(self, asked: SigningRequest, terms: RequestTerms) -> Template:
        return self.wrong(pki.request_template(asked, terms))

    def wrong(self, made: Template) -> Template:
        raise NotImplementedError


class WrongNames(Wrong):
    """Signs other alternative names than were asked for."""

    def wrong(self, made: Template) -> Template:
        names = AlternativeNames()
        if made.names is not None:
            names = AlternativeNames.of_extension(cast("Any", made.names))
        changed = self.names(names, pki.format_name(made.subject).removeprefix("CN="))
        return replace(made, names=changed.to_extension() if changed else None)

    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        raise NotImplementedError


class Later(Bare):
    """Dates its certificates by a wrong clock; its root is old enough for that."""

    by = timedelta()

    def root(self, now: datetime) -> Authority:
        if self.authority is None:
            self.authority = new_root(now - 400 * DAY)
        return self.authority

    def leaf(
        self, authority: Authority, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> Certificate:
        return super().leaf(authority, asked, terms, now + self.by)


class Longer(Wrong):
    """Signs for another time than was asked for."""

    by = timedelta()

    def wrong(self, made: Template) -> Template:
        return replace(made, lifetime=made.lifetime + self.by)


# Key and time


@fault("KeyMismatch")
class AnotherKey(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, public_key=pki.generate_key(pki.KeySpec()).public_key())


@fault("Expired")
class Expired(Later):
    by = -200 * DAY


@fault("NotYetValid")
class NotValidYet(Later):
    by = 2 * DAY


@fault("DurationMismatch")
class ADayInsteadOf90(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, lifetime=DAY)


@fault("DurationMismatch")
class AMinuteLonger(Longer):
    by = timedelta(seconds=60)


@fault("DurationMismatch")
class FiveMinutesLonger(Longer):
    by = timedelta(seconds=300)


@fault("DurationMismatch")
class FiveAndAHalfMinutesLonger(Longer):
    by = timedelta(seconds=330)


@fault("DurationMismatch")
class AMinuteShorter(Longer):
    by = timedelta(seconds=-60)


@fault("DurationMismatch", "a lifetime of 896 hours")
class LifetimeIgnored(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, lifetime=90 * DAY)


# Alternative names


@fault("MissingName")
class NamesReplaced(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return AlternativeNames(dns=("evil.example.com",))


@fault("ExtraName")
class OneNameMore(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, dns=(*names.dns, "evil.example.com"))


@fault("MissingName", TWO_NAMES)
class OnlyTheFirstName(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, dns=names.dns[:1])


@fault("MissingName", "a DNS name and an IP address")
class IpAddressesDropped(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, ips=())


@fault("MissingName", "an IP address")
class IpAddressAsDnsName(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return AlternativeNames(dns=tuple(map(str, names.ips)))


@fault("MissingName", PRINCIPALS)
class EmailsDropped(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, emails=())


@fault("MissingName", PRINCIPALS)
class OtherNamesDropped(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, others=())


@fault("MissingName", "a common name and a URI")
class UrisDropped(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, uris=())


@fault("MissingName", "a wildcard")
class WildcardsWithoutStar(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, dns=tuple(name.removeprefix("*.") for name in names.dns))


@fault("MissingName", "a label of 63 characters")
class LongLabelsCut(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, dns=tuple(name[1:] for name in names.dns))


@fault("NameRespelled")
class NamesInUpperCase(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, dns=tuple(name.upper() for name in names.dns))


@fault("NameRepeated")
class NamesTwice(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, dns=names.dns * 2)


@fault("CommonNameCopied", OTHER_COMMON_NAME)
class CommonNameAsSecondName(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return replace(names, dns=(*names.dns, common_name))


@fault("CommonNameCopied", "only a common name")
class CommonNameAsOnlyName(WrongNames):
    def names(self, names: AlternativeNames, common_name: str) -> AlternativeNames:
        return AlternativeNames(dns=(common_name,))


# Subjects


@fault("SubjectMismatch", OTHER_COMMON_NAME)
class CommonNameDropped(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, subject=pki.distinguished_name())


@fault("SubjectMismatch", OTHER_COMMON_NAME)
class CommonNameReplaced(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, subject=pki.distinguished_name("one.example.com"))


@fault("SubjectMismatch")
class CommonNameInvented(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, subject=pki.distinguished_name("Certificate"))


@fault("SubjectMismatch", OTHER_COMMON_NAME)
class OrganizationAdded(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, subject=pki.parse_name(f"{pki.format_name(made.subject)},O=Bare"))


@fault("LiteralSubjectMismatch", LITERAL)
class LiteralSubjectTurned(Wrong):
    def wrong(self, made: Template) -> Template:
        parts = pki.format_name(made.subject).split(",")
        return replace(made, subject=pki.parse_name(",".join(reversed(parts))))


@fault("LiteralSubjectMismatch", LITERAL)
class LiteralSubjectWithoutRepeats(Wrong):
    def wrong(self, made: Template) -> Template:
        shorter = pki.format_name(made.subject).replace("OU=Paper,", "")
        return replace(made, subject=pki.parse_name(shorter))


# Usages and authorities


@fault("ExtraUsage")
class OneUsageMore(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, usages=pki.parse_usages([*made.usages.key, "code signing"]))


@fault("ExtraUsage")
class SignsCertificatesWithoutBeingAsked(Bare):
    def leaf(
        self, authority: Authority, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> Certificate:
        usage = pki.parse_usages([*terms.usages.key, "cert sign"]).key_usage()

        def widened(one: Extension[Any]) -> tuple[ExtensionType, bool]:
            return usage if isinstance(one.value, KeyUsage) else one.value, one.critical

        return resigned(authority, super().leaf(authority, asked, terms, now), widened)


@fault("MissingUsage", "four usages")
class UsagesIgnored(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, usages=pki.parse_usages(["digital signature"]))


@fault("MissingUsage", "four usages")
class ExtendedUsagesDropped(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, usages=replace(made.usages, extended=()))


@fault("CaMismatch")
class AuthorityWithoutBeingAsked(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, is_ca=True)


@fault("CaMismatch", AUTHORITY)
class NoAuthority(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, is_ca=False)


@fault("MissingUsage", AUTHORITY)
class AuthorityThatCannotSign(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, usages=pki.parse_usages(made.usages.key - {"cert sign"}))


@fault("PathLengthAdded", AUTHORITY)
class PathLengthOfZero(Wrong):
    def wrong(self, made: Template) -> Template:
        return replace(made, path_length=0)
