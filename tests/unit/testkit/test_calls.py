"""Counting what leaves a controller."""

from certwright.client import request
from certwright.client.request import DeleteOptions, Selection, WriteOptions
from certwright.kube.kinds import ConfigMap, Secret, TokenReview
from certwright.kube.objects import Key
from certwright.testkit.calls import CallLog, Calls

KEY = Key("n", "a")
SENT = [
    request.list_page(ConfigMap, Selection()),
    request.watch(ConfigMap, Selection()),
    request.get(Secret, KEY),
    request.create(ConfigMap, {"metadata": {"name": "a", "namespace": "n"}}, WriteOptions()),
    request.create(
        ConfigMap, {"metadata": {"name": "a", "namespace": "n"}}, WriteOptions(dry_run=True)
    ),
    request.delete(Secret, KEY, DeleteOptions(dry_run=True)),
    request.delete(Secret, KEY),
    request.raw("/version"),
]


def test_reads_writes_and_watches_are_told_apart_and_dry_runs_write_nothing() -> None:
    calls = Calls(SENT)
    assert (len(calls), calls.writes, calls.reads, calls.watches) == (8, 2, 3, 1)
    assert calls.by_verb == {"list": 1, "watch": 1, "get": 2, "create": 2, "delete": 2}
    assert calls.by_kind == {"ConfigMap": 4, "Secret": 3}
    assert calls.of("Secret").writes == 1


def test_questions_are_no_writes() -> None:
    asked = request.create(TokenReview, {"spec": {"token": "t"}}, WriteOptions())
    assert (Calls([asked]).writes, Calls([asked]).by_verb) == (0, {"create": 1})


def test_the_log_knows_what_is_new() -> None:
    log = CallLog([])
    log.requests += SENT[:3]
    assert len(log.since_mark()) == 3
    log.mark()
    log.requests += SENT[3:4]
    assert log.since_mark().writes == 1
    assert len(log.all()) == 4


def test_a_failed_count_shows_what_was_sent() -> None:
    assert repr(Calls(SENT[2:4])) == (
        "<2 calls: get /api/v1/namespaces/n/secrets/a; create /api/v1/namespaces/n/configmaps>"
    )
