"""Random traces of operations: heard the same from both servers, and sane by themselves.

The traces are the same in every run, so that a failure repeats itself; what fails is reduced
to the shortest trace that still does. For a longer look, give ``--certwright-seeds`` a number of
traces per kind, and ``CERTWRIGHT_TRACE_SEED`` another point to start from.
"""

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.support.contract.trace_gadgets import DEFINITION, GADGETS
from tests.support.contract.trace_player import LAST, Player, TraceConversation
from tests.support.contract.trace_subjects import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    SECRETS,
    SERVICES,
    Json,
    Subject,
)
from tests.support.contract.traces import Operation, traces
from tests.support.contract.transcript import difference

from certwright.apiserver import ApiServer
from certwright.client import connect
from certwright.kube.ownership import FieldSet

NAMESPACE = "traces"
SUBJECTS = (CONFIG_MAPS, SECRETS, SERVICES, DEPLOYMENTS, GADGETS)
COMPARED = 210
"""Traces of each kind that both servers play."""
ALONE = 40
"""Traces of each kind that the embedded server plays alone."""


def campaign(
    subject: Subject, examples: int, verdict: Callable[[Sequence[Operation]], None]
) -> None:
    """Reach a verdict on many traces."""
    examples = int(os.environ.get("CERTWRIGHT_SEEDS") or examples)
    start = int(os.environ.get("CERTWRIGHT_TRACE_SEED", "0"))

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow,),
        report_multiple_bugs=False,
    )
    @given(traces(subject))
    def judge(trace: Sequence[Operation]) -> None:
        verdict(trace)

    judge()


async def make_namespace(api: TraceConversation) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": api.namespace}}
    await api.post("/api/v1/namespaces", namespace)


async def define_gadgets(api: TraceConversation) -> None:
    await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
    await api.until(GADGETS.path, lambda answer: answer.status == 200)


async def play_embedded(
    subject: Subject, trace: Sequence[Operation]
) -> tuple[TraceConversation, list[Json]]:
    """Play a trace on a server of its own."""
    api = TraceConversation(ApiServer().transport(), NAMESPACE)
    await make_namespace(api)
    if subject is GADGETS:
        await define_gadgets(api)
    api.start()
    return api, await Player(api, subject).play(trace)


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def real_server(
    loop: asyncio.Runner, control_plane_kubeconfig: Path
) -> Iterator[TraceConversation]:
    """Talk to the real server; what traces leave behind is removed after each."""

    async def begin() -> tuple[Callable[..., Any], TraceConversation]:
        client = connect(kubeconfig=control_plane_kubeconfig)
        api = TraceConversation(client.transport, NAMESPACE)
        await make_namespace(api)
        await define_gadgets(api)
        return client.close, api

    close, api = loop.run(begin())
    yield api
    loop.run(close())


@pytest.mark.real
@pytest.mark.timeout(900)  # of which finding the shortest failing trace takes most
@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_traces_sound_the_same(
    subject: Subject, loop: asyncio.Runner, real_server: TraceConversation
) -> None:
    async def compare(trace: Sequence[Operation]) -> str:
        embedded, _ = await play_embedded(subject, trace)
        real_server.start()
        player = Player(real_server, subject)
        try:
            await player.play(trace)
            return difference(embedded.heard, real_server.heard)
        finally:
            await player.clear()

    def verdict(trace: Sequence[Operation]) -> None:
        found = loop.run(compare(trace))
        assert not found, found

    campaign(subject, COMPARED, verdict)


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_traces_make_sense(subject: Subject, loop: asyncio.Runner) -> None:
    def verdict(trace: Sequence[Operation]) -> None:
        api, events = loop.run(play_embedded(subject, trace))
        check_answers(api.heard)
        check_history(events)
        listed = next(each for each in reversed(api.heard) if each["asked"].startswith("GET"))
        assert replayed(events, api) == listed["content"]["items"]

    campaign(subject, ALONE, verdict)


def check_answers(heard: Sequence[Json]) -> None:
    """No answer blames the server, except where the real one does, too."""
    for answer in heard:
        failed = answer.get("status", 200) >= 500
        assert not failed or is_the_servers_own(answer["content"]["message"]), answer


def is_the_servers_own(message: str) -> bool:
    """Whether kube-apiserver answers 500 with this message to what is a client's mistake."""
    return message.startswith(
        (
            "failed to create typed patch object",
            "failed to convert new object",
            "resourceVersion should not be set",
            "Internal error occurred: the spec replicas field",
        )
    )


def check_history(events: Sequence[Json]) -> None:
    """Every event follows from the one before, is newer, and names valid owners."""
    before = 0
    known: dict[str, Json] = {}
    for event in events:
        obj = event["object"]
        name, version = obj["metadata"]["name"], int(obj["metadata"]["resourceVersion"])
        assert version > before, "versions grow"
        assert (event["type"] == "ADDED") == (name not in known), event
        if event["type"] == "MODIFIED":
            assert without_version(obj) != without_version(known[name]), "a change changes"
        check_owners(obj["metadata"].get("managedFields", []))
        before, known[name] = version, obj
        if event["type"] == "DELETED":
            del known[name]


def without_version(obj: Json) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": ""}}


def check_owners(entries: Sequence[Json]) -> None:
    owners = [
        tuple(entry.get(part, "") for part in ("manager", "operation", "apiVersion", "subresource"))
        for entry in entries
    ]
    assert len(set(owners)) == len(owners), entries
    for entry in entries:
        assert entry["operation"] in {"Apply", "Update"}
        assert entry["fieldsType"] == "FieldsV1"
        assert FieldSet.parse(entry["fieldsV1"]).to_json() == entry["fieldsV1"]


def replayed(events: Sequence[Json], api: TraceConversation) -> list[Json]:
    """Return the objects that the events leave, as the conversation would write them down."""
    left: dict[str, Json] = {}
    for event in events:
        obj = event["object"]
        left[obj["metadata"]["name"]] = obj
        if event["type"] == "DELETED":
            del left[obj["metadata"]["name"]]
    left.pop(LAST)
    items = [
        # Lists of built-ins do not repeat what all items are.
        obj if obj["apiVersion"].startswith(GADGETS.api_version) else without_type(obj)
        for _, obj in sorted(left.items())
    ]
    return [api.symbols.clean(item) for item in items]


def without_type(obj: Json) -> Json:
    return {name: value for name, value in obj.items() if name not in {"apiVersion", "kind"}}
