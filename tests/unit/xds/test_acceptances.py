"""Acceptances that are known by their bytes say what is read from them."""

import random
from typing import Any

import pytest

from certwright.xds.messages import DeltaDiscoveryRequest, DiscoveryRequest
from certwright.xds.protocol.acceptances import DELTA, STATE, RequestForm, RequestReader
from certwright.xds.protocol.observation import StreamResponse
from certwright.xds.typeurls import CLUSTER, SECRET
from certwright.xds.wire import text_field, wrapped


class Counted:
    """A reader that counts what it has to read."""

    def __init__(self, form: RequestForm) -> None:
        self.reads = 0
        self._read = form.read
        self.reader = RequestReader(form._replace(read=self._count))

    def _count(self, message: bytes) -> Any:
        self.reads += 1
        return self._read(message)

    def sent(self, nonce: str, version: str, type_url: str = SECRET) -> None:
        self.reader.sent(StreamResponse(type_url, version, nonce, b"", b""))


def state(
    nonce: str = "", version: str = "", error: str = "", names: tuple[str, ...] = ("b", "a")
) -> bytes:
    found = DiscoveryRequest(
        type_url=SECRET, version_info=version, response_nonce=nonce, resource_names=names
    )
    if error:
        found.error_detail.message = error
    return bytes(found.SerializeToString())


def delta(nonce: str = "", _version: str = "") -> bytes:
    found = DeltaDiscoveryRequest(type_url=SECRET, response_nonce=nonce)
    return bytes(found.SerializeToString())


@pytest.mark.parametrize(("form", "encode"), [(STATE, state), (DELTA, delta)])
def test_all_acceptances_but_the_first_are_known(form: RequestForm, encode: Any) -> None:
    first, others = Counted(form), [Counted(form) for _ in range(100)]
    for one in (first, *others):
        for number in range(1, 5):
            nonce, version = str(number), f"v{number}"
            one.sent(nonce, version)
            accepted = encode(nonce, version)
            assert one.reader.read(accepted) == form.read(accepted)
    assert all(one.reads <= 1 + 1 + 3 for one in (first, *others))


def test_what_many_streams_say_alike_is_read_once() -> None:
    reads = 0

    def read(message: bytes) -> Any:
        nonlocal reads
        reads += 1
        return STATE.read(message)

    form = STATE._replace(read=read)
    streams = [RequestReader(form) for _ in range(100)]
    for number in range(1, 5):
        nonce, version = str(number), f"v{number}"
        for stream in streams:
            stream.sent(StreamResponse(SECRET, version, nonce, b"", b""))
            assert stream.read(state(nonce, version)).nonce == nonce
    assert reads == 100 + 1 + 3, "the first of each, what it says, and one of each later response"


@pytest.mark.parametrize("seed", range(30))
def test_whatever_comes_says_the_same_as_without(seed: int) -> None:
    rng, reader = random.Random(seed), RequestReader(STATE)  # noqa: S311 - repeatable
    for _ in range(200):
        nonce, version = str(rng.randrange(4)), rng.choice(["", "v1", "v2"])
        if rng.random() < 0.5:
            url = rng.choice([SECRET, SECRET, CLUSTER])
            reader.sent(StreamResponse(url, version, nonce, b"", b""))
        message = state(
            rng.choice([nonce, nonce, ""]),
            version,
            rng.choice(["", "", "no"]),
            rng.choice([("a",), ("a",), ("a", "b"), ()]),
        )
        assert reader.read(message) == STATE.read(message)


def test_a_nonce_that_belongs_to_another_field_is_none() -> None:
    """A field that is not known swallows what looks like the nonce."""
    reader = RequestReader(STATE)
    swallowing = wrapped(15, b"")[:-1]  # the length follows

    def odd(nonce: str) -> bytes:
        end = text_field(5, nonce)
        known = text_field(4, SECRET) + text_field(5, "1")
        return text_field(1, "v1") + known + swallowing + bytes([len(end)]) + end

    assert STATE.read(odd("1")).nonce == STATE.read(odd("2")).nonce == "1"
    assert reader.read(odd("1")).nonce == "1"
    reader.sent(StreamResponse(SECRET, "v1", "2", b"", b""))
    assert reader.read(odd("2")).nonce == "1"
