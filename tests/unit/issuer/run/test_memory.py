"""What a process remembers, and forgets."""

from tests.support.issuer.issuer_rows import CLUSTER_ISSUER, ISSUER, KINDS

from certwright.issuer.check.status import Trouble
from certwright.issuer.requests.match import IssuerAt
from certwright.issuer.run.memory import Memory
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap

ONE, TWO = IssuerAt(ISSUER, Key("ns", "one")), IssuerAt(CLUSTER_ISSUER, Key("", "two"))
REQUEST = Key("ns", "cr")


def test_another_object_of_the_same_name_starts_anew():
    memory = Memory(KINDS)
    first = memory.attempts(ConfigMap, REQUEST, "uid-1")
    first.count = 5
    assert memory.attempts(ConfigMap, REQUEST, "uid-1") is first
    assert memory.attempts(ConfigMap, REQUEST, "uid-2").count == 0


def test_old_news_about_settled_requests_is_known_as_such(monkeypatch):
    monkeypatch.setattr("certwright.issuer.run.memory.SETTLED", 2)
    memory = Memory(KINDS)
    memory.settle(ConfigMap, REQUEST, "7")
    assert memory.is_settled(ConfigMap, REQUEST, "7")
    assert not memory.is_settled(ConfigMap, REQUEST, "8"), "somebody made another of that name"
    assert not memory.is_settled(ISSUER, REQUEST, "7"), "another kind"
    memory.settle(ConfigMap, Key("ns", "second"), "8")
    memory.settle(ConfigMap, REQUEST, "9")
    memory.settle(ConfigMap, Key("ns", "third"), "10")
    assert memory.is_settled(ConfigMap, REQUEST, "9"), "the one settled longest ago is forgotten"
    assert not memory.is_settled(ConfigMap, Key("ns", "second"), "8")


def test_requests_are_linked_until_forgotten():
    memory = Memory(KINDS)
    memory.link(ConfigMap, REQUEST, ONE)
    memory.link(ConfigMap, REQUEST, ONE)
    assert memory.linked(ConfigMap, ONE) == [REQUEST]
    assert memory.linked(ISSUER, ONE) == []
    assert memory.linked(ConfigMap, TWO) == []
    memory.forget(ConfigMap, REQUEST)
    memory.forget(ConfigMap, REQUEST)
    assert memory.linked(ConfigMap, ONE) == []


def test_the_last_complaint_is_heard_once_and_wakes_the_issuer():
    memory = Memory(KINDS)
    woken = []
    memory.channels[ISSUER].connect(lambda key, _priority: woken.append(key))
    first, second = Trouble("first"), Trouble("second")
    memory.report(ONE, first)
    memory.report(ONE, second)
    memory.heard(ONE, first)
    assert memory.reported(ONE) is second
    memory.heard(ONE, second)
    assert memory.reported(ONE) is None
    assert woken == [ONE.key, ONE.key]


def test_secrets_are_forgotten_with_their_last_user():
    memory = Memory(KINDS)
    shared, own = Key("ns", "shared"), Key("ns", "own")
    assert memory.use(ONE, frozenset({shared, own})) == []
    assert memory.use(TWO, frozenset({shared})) == []
    assert memory.users_of(ISSUER, shared) == [ONE.key]
    assert memory.users_of(CLUSTER_ISSUER, shared) == [TWO.key]
    assert memory.health(ONE).is_changed
    assert memory.use(ONE, frozenset({shared})) == [own]
    assert memory.forget_issuer(ONE) == []
    assert memory.forget_issuer(TWO) == [shared]
    assert memory.users_of(ISSUER, shared) == []


def test_only_what_is_younger_than_our_first_write_is_surely_current():
    memory = Memory(KINDS)
    assert not memory.is_surely_current("5")
    memory.wrote("opaque")
    assert not memory.is_surely_current("5")
    memory.wrote("10")
    memory.wrote("20")
    assert memory.is_surely_current("11")
    assert not memory.is_surely_current("10")
    assert not memory.is_surely_current("opaque")
