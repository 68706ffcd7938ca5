import itertools
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from cryptography.x509 import Certificate

from certwright.pki import (
    BrokenChain,
    PrivateKey,
    TooLarge,
    client_template,
    create_intermediate,
    create_root,
    parse_name,
    read_chain,
    write_certificates,
)
from certwright.pki.chains import is_self_signed, order_chain
from certwright.pki.errors import MalformedPem
from certwright.pki.matches import chain_violations

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def ladder(key_of: Callable[..., PrivateKey], now: datetime) -> list[Certificate]:
    """Leaf, two intermediates, root."""
    top = create_root(parse_name("CN=top"), key_of(which="top"), 99 * DAY, now)
    upper = create_intermediate(top, parse_name("CN=upper"), key_of(which="upper"), 50 * DAY, now)
    lower = create_intermediate(upper, parse_name("CN=lower"), key_of(which="lower"), 20 * DAY, now)
    leaf = lower.issue(client_template(parse_name("CN=leaf"), key_of().public_key(), DAY), now)
    return [leaf, lower.certificate, upper.certificate, top.certificate]


@pytest.fixture(scope="module")
def stranger(key_of: Callable[..., PrivateKey], now: datetime) -> Certificate:
    return create_root(parse_name("CN=stranger"), key_of(which="stranger"), DAY, now).certificate


def test_every_order_gives_the_same_chain(ladder: list[Certificate]) -> None:
    for shuffled in itertools.permutations(ladder):
        chain = order_chain(shuffled)
        assert chain.certificates == tuple(ladder[:3])
        assert chain.authority == ladder[3]
        assert chain.leaf == ladder[0]


@pytest.mark.scenario("ISS-57")
def test_repeats_are_dropped(ladder: list[Certificate]) -> None:
    assert order_chain([*ladder, *reversed(ladder)]).certificates == tuple(ladder[:3])


def test_without_root_the_topmost_is_the_authority(ladder: list[Certificate]) -> None:
    chain = order_chain(ladder[:3])
    assert chain.certificates == tuple(ladder[:3])
    assert chain.authority == ladder[2]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_single_certificate_has_no_authority(ladder: list[Certificate], place: int) -> None:
    chain = order_chain([ladder[place]])
    assert chain.certificates == (ladder[place],)
    assert chain.authority is None


def test_a_single_root_is_both(ladder: list[Certificate]) -> None:
    chain = order_chain([ladder[3]])
    assert chain.certificates == (ladder[3],)
    assert chain.authority == ladder[3]


def test_two_certificates_with_the_same_name(
    key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    """The name alone joins nothing: the signature decides."""
    top = create_root(parse_name("CN=same"), key_of(which="top"), 9 * DAY, now)
    lower = create_intermediate(top, parse_name("CN=same"), key_of(which="lower"), 5 * DAY, now)
    leaf = lower.issue(client_template(parse_name("CN=leaf"), key_of().public_key(), DAY), now)
    chain = order_chain([top.certificate, leaf, lower.certificate])
    assert chain.certificates == (leaf, lower.certificate)
    assert chain.authority == top.certificate


def test_gap_stranger_branch_and_nothing_are_refused(
    ladder: list[Certificate],
    stranger: Certificate,
    key_of: Callable[..., PrivateKey],
    now: datetime,
) -> None:
    top = create_root(parse_name("CN=top"), key_of(which="top"), 99 * DAY, now)
    sibling = top.issue(client_template(parse_name("CN=x"), key_of().public_key(), DAY), now)
    for broken in (
        [ladder[0], ladder[2], ladder[3]],
        [*ladder, stranger],
        [*ladder, sibling],
        [],
    ):
        with pytest.raises(BrokenChain, match=r"^certificate chain is malformed or broken$"):
            order_chain(broken)


def test_authorities_that_signed_each_other_are_no_chain(
    ladder: list[Certificate], key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    one = create_root(parse_name("CN=one"), key_of(which="one"), 9 * DAY, now)
    two = create_root(parse_name("CN=two"), key_of(which="two"), 9 * DAY, now)
    crossed = [
        create_intermediate(two, parse_name("CN=one"), key_of(which="one"), DAY, now).certificate,
        create_intermediate(one, parse_name("CN=two"), key_of(which="two"), DAY, now).certificate,
    ]
    for broken in (crossed, [ladder[0], *crossed]):
        with pytest.raises(BrokenChain):
            order_chain(broken)


def test_a_chain_is_read_with_comments_and_written_without_root(ladder: list[Certificate]) -> None:
    text = b"# chain\r\n" + b"noise\n".join(write_certificates(one) for one in reversed(ladder))
    assert read_chain(text).to_pem() == write_certificates(*ladder[:3])


def test_a_hundred_certificates_only_when_asked(
    key_of: Callable[..., PrivateKey], now: datetime
) -> None:
    key = key_of()
    authority = create_root(parse_name("CN=0"), key, 999 * DAY, now)
    certificates = [authority.certificate]
    for number in range(1, 100):
        authority = create_intermediate(authority, parse_name(f"CN={number}"), key, 99 * DAY, now)
        certificates.append(authority.certificate)
    text = write_certificates(*certificates)
    with pytest.raises(TooLarge, match="100 certificates are more than the maximum of 10"):
        read_chain(text)
    assert len(read_chain(text, at_most=100).certificates) == 99
    with pytest.raises(TooLarge, match="larger than the maximum of 95000"):
        read_chain(text * 2, at_most=500)


def test_no_certificate_is_an_error() -> None:
    with pytest.raises(MalformedPem, match="no certificate found"):
        read_chain("hello")


def test_self_signed_means_name_and_signature(ladder: list[Certificate]) -> None:
    assert [is_self_signed(one) for one in ladder] == [False, False, False, True]


def test_what_is_wrong_with_a_delivered_chain_has_a_name(
    ladder: list[Certificate], stranger: Certificate
) -> None:
    leaf, lower, upper, top = ladder

    def names(*certificates: Certificate) -> list[str]:
        return [one.name for one in chain_violations(certificates)]

    assert names(leaf, lower, upper) == []
    assert names(leaf) == []
    assert names(top) == []
    assert names(leaf, lower, upper, top) == ["RootInChain"]
    assert names(lower, leaf, upper) == ["WrongOrder"]
    assert names(top, lower, leaf, upper) == ["RootInChain", "WrongOrder"]
    assert names(leaf, upper) == ["BrokenChain"]
    assert names(leaf, lower, stranger) == ["BrokenChain"]
    assert names(leaf, lower, lower) == ["RepeatedCertificate"]
