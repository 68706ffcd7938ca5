"""Issuers that are right in ways of their own: none of them may be told that it is wrong."""

from dataclasses import replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.x509 import Certificate
from tests.component.issuer.conformance.bare import (
    POLL,
    REQUEST,
    Bare,
    new_root,
    ready,
    resigned,
    write,
)
from tests.component.issuer.conformance.faulty.chains import WithIntermediate
from tests.component.issuer.conformance.faulty.encodings import Without

from certwright import pki
from certwright.kube import JsonObject, Key, find_condition
from certwright.kube.conditions import conditions_of
from certwright.pki import Authority, RequestTerms, SigningRequest
from certwright.pki.requests import Template
from certwright.runtime import Context, Outcome, again

DAY = timedelta(days=1)


class RootOf(Bare):
    """Signs with a root of another key."""

    key = pki.KeySpec()

    def root(self, now: datetime) -> Authority:
        if self.authority is None:
            self.authority = new_root(now, key=self.key)
        return self.authority


class RsaRoot(RootOf):
    key = pki.KeySpec(pki.KeyAlgorithm.RSA)


class P384Root(RootOf):
    key = pki.KeySpec(pki.KeyAlgorithm.ECDSA, 384)


class Ed25519Root(RootOf):
    key = pki.KeySpec(pki.KeyAlgorithm.ED25519)


class OneIntermediate(WithIntermediate):
    pass


class TwoIntermediates(Bare):
    def sign(
        self, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> tuple[bytes, bytes]:
        root = signer = self.root(now)
        for name in ("upper", "lower"):
            key = pki.generate_key(pki.KeySpec())
            signer = pki.create_intermediate(
                signer, pki.distinguished_name(name), key, 1825 * DAY, now
            )
        leaf = signer.issue(self.template(asked, terms), now)
        return signer.write_chain(leaf), pki.write_certificates(root.certificate)


class RootWithPathLength(Bare):
    """Passes on what is left of its own path length to the authorities below."""

    def root(self, now: datetime) -> Authority:
        if self.authority is None:
            name, key = pki.distinguished_name("limited"), pki.generate_key(pki.KeySpec())
            self.authority = pki.create_root(name, key, 3650 * DAY, now, path_length=2)
        return self.authority


class CommonNameFromNames(Bare):
    """Gives a certificate without subject one of its DNS names or addresses as common name."""

    def template(self, asked: SigningRequest, terms: RequestTerms) -> Template:
        made = super().template(asked, terms)
        names = [*asked.names.dns, *map(str, asked.names.ips)]
        if made.subject.rdns or not names or len(names[0]) > 64:
            return made
        return replace(made, subject=pki.distinguished_name(names[0]))


class CommentsAndCarriageReturns(Bare):
    def sign(
        self, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> tuple[bytes, bytes]:
        chain, authority = super().sign(asked, terms, now)
        return b"subject: something\r\n" + chain.replace(b"\n", b"\r\n"), authority


class HalfAMinuteLonger(Bare):
    """Begins half a minute ago and counts from now, as Vault does."""

    def template(self, asked: SigningRequest, terms: RequestTerms) -> Template:
        made = super().template(asked, terms)
        return replace(made, lifetime=made.lifetime + timedelta(seconds=30))


class BeganYesterday(Bare):
    """Begins a day ago, and lasts exactly as long as was asked for."""

    def root(self, now: datetime) -> Authority:
        if self.authority is None:
            self.authority = new_root(now - 400 * DAY)
        return self.authority

    def leaf(
        self, authority: Authority, asked: SigningRequest, terms: RequestTerms, now: datetime
    ) -> Certificate:
        # What lasts an hour only would be over by now.
        lead = DAY if terms.lifetime > 2 * DAY else timedelta()
        return super().leaf(authority, asked, terms, now - lead)


class NoSubjectKeyIdentifierInLeaves(Without):
    """Leaves out what RFC 5280 asks of authorities only."""

    kind = x509.SubjectKeyIdentifier

    def remade(self, authority: Authority, good: Certificate) -> Certificate:
        constraints = good.extensions.get_extension_for_class(x509.BasicConstraints)
        return good if constraints.value.ca else resigned(authority, good, self.extension)


class AuthoritiesMaySign(Bare):
    """Lets every authority sign certificates, whether its request lists the usage or not."""

    def template(self, asked: SigningRequest, terms: RequestTerms) -> Template:
        made = super().template(asked, terms)
        if not made.is_ca:
            return made
        key = made.usages.key | pki.parse_usages(["cert sign"]).key
        return replace(made, usages=replace(made.usages, key=key))


class InitializesFirst(Bare):
    """Says that work has begun before it signs."""

    words = ("Unknown", "Initializing")

    async def try_to_sign(self, ctx: Context, key: Key, request: JsonObject) -> Outcome:
        if find_condition(conditions_of(request), "Ready") is None:
            await write(ctx, REQUEST, key, request, ready(ctx, *self.words))
            return again(POLL)
        return await super().try_to_sign(ctx, key, request)


class WaitsForATicket(InitializesFirst):
    words = ("False", "Pending")


SOUND: tuple[type[Bare], ...] = (
    Bare,
    RsaRoot,
    P384Root,
    Ed25519Root,
    OneIntermediate,
    TwoIntermediates,
    RootWithPathLength,
    CommonNameFromNames,
    CommentsAndCarriageReturns,
    HalfAMinuteLonger,
    BeganYesterday,
    NoSubjectKeyIdentifierInLeaves,
    AuthoritiesMaySign,
    InitializesFirst,
    WaitsForATicket,
)
