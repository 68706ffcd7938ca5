"""What a process remembers, and forgets."""

import pytest
from tests.support.issuer.issuer_rows import CLUSTER_ISSUER, ISSUER, KINDS

from certwright.issuer.kinds import IssuerKey
from certwright.issuer.run.memory import AppMemory
from certwright.issuer.sign.result import CheckFailure
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap

ONE, TWO = IssuerKey(ISSUER, Key("ns", "one")), IssuerKey(CLUSTER_ISSUER, Key("", "two"))
REQUEST = Key("ns", "cr")


def test_another_object_of_the_same_name_starts_anew() -> None:
    memory = AppMemory(KINDS)
    first = memory.request(ConfigMap, REQUEST, "uid-1")
    first.attempts = 5
    assert memory.request(ConfigMap, REQUEST, "uid-1") is first
    assert memory.request(ConfigMap, REQUEST, "uid-2").attempts == 0


def test_old_news_about_settled_requests_is_known_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("certwright.issuer.run.memory.FINAL", 2)
    memory = AppMemory(KINDS)
    memory.set_final(ConfigMap, REQUEST, "7")
    assert memory.is_final(ConfigMap, REQUEST, "7")
    assert not memory.is_final(ConfigMap, REQUEST, "8"), "somebody made another of that name"
    assert not memory.is_final(ISSUER, REQUEST, "7"), "another kind"
    memory.set_final(ConfigMap, Key("ns", "second"), "8")
    memory.set_final(ConfigMap, REQUEST, "9")
    memory.set_final(ConfigMap, Key("ns", "third"), "10")
    assert memory.is_final(ConfigMap, REQUEST, "9"), "the one settled longest ago is forgotten"
    assert not memory.is_final(ConfigMap, Key("ns", "second"), "8")


@pytest.mark.scenario("ISS-23")
def test_requests_are_linked_until_forgotten() -> None:
    memory = AppMemory(KINDS)
    memory.link(ConfigMap, REQUEST, ONE)
    memory.link(ConfigMap, REQUEST, ONE)
    assert memory.linked(ConfigMap, ONE) == [REQUEST]
    assert memory.linked(ISSUER, ONE) == []
    assert memory.linked(ConfigMap, TWO) == []
    memory.forget(ConfigMap, REQUEST)
    memory.forget(ConfigMap, REQUEST)
    assert memory.linked(ConfigMap, ONE) == []


def test_the_last_complaint_is_heard_once_and_wakes_the_issuer() -> None:
    memory = AppMemory(KINDS)
    woken = []
    memory.channels[ISSUER].connect(lambda key, _seconds, _priority: woken.append(key))
    first, second = CheckFailure("first"), CheckFailure("second")
    memory.report(ONE, first)
    memory.report(ONE, second)
    memory.clear_report(ONE, first)
    assert memory.reported(ONE) is second
    memory.clear_report(ONE, second)
    assert memory.reported(ONE) is None
    assert woken == [ONE.key, ONE.key]


def test_secrets_are_forgotten_with_their_last_user() -> None:
    memory = AppMemory(KINDS)
    shared, own = Key("ns", "shared"), Key("ns", "own")
    assert memory.use(ONE, frozenset({shared, own})) == []
    assert memory.use(TWO, frozenset({shared})) == []
    assert memory.users_of(ISSUER, shared) == [ONE.key]
    assert memory.users_of(CLUSTER_ISSUER, shared) == [TWO.key]
    assert memory.issuer(ONE).is_changed
    assert memory.use(ONE, frozenset({shared})) == [own]
    assert memory.forget_issuer(ONE) == []
    assert memory.forget_issuer(TWO) == [shared]
    assert memory.users_of(ISSUER, shared) == []


def test_only_what_is_younger_than_our_first_write_is_surely_current() -> None:
    memory = AppMemory(KINDS)
    assert not memory.is_surely_current("5")
    memory.wrote("opaque")
    assert not memory.is_surely_current("5")
    memory.wrote("10")
    memory.wrote("20")
    assert memory.is_surely_current("11")
    assert not memory.is_surely_current("10")
    assert not memory.is_surely_current("opaque")
