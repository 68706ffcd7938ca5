"""Reading Secrets once, within a bound."""

import base64
from typing import Any

import orjson

from certwright.kube.kinds import Secret
from certwright.operators.managedresource.declared import Decoder, decode_secret
from certwright.runtime import Entry
from certwright.runtime.cache.decode import EntryDecoder

YAML = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\nbroken: [\n"


def secret(name: str = "s", **data: bytes) -> Entry:
    whole = {
        "metadata": {"name": name, "namespace": "shop", "uid": "u", "resourceVersion": "1"},
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }
    return EntryDecoder(Secret).entry(orjson.dumps(whole))


async def in_thread(fn: Any, *args: Any) -> Any:
    return fn(*args)


async def refuse(fn: Any, *args: Any) -> Any:
    raise AssertionError("small Secrets are read where they are")


async def test_a_secret_is_read_once_and_says_the_same_again() -> None:
    decoder, entry = Decoder(worthwhile=0), secret(a=YAML, b=b"---\n")
    first = await decoder.decode(entry, refuse)
    second = await decoder.decode(entry, refuse)
    assert second == first
    assert second.errors[0] is first.errors[0], "it was read again"
    expected = decode_secret(entry.key, entry.obj()["data"])
    assert (first.manifests, first.contents) == (expected.manifests, expected.contents)


async def test_another_version_is_read_anew() -> None:
    decoder = Decoder(worthwhile=0)
    await decoder.decode(secret(a=YAML), refuse)
    again = await decoder.decode(secret(a=b"apiVersion: v1\nkind: Other\n"), refuse)
    assert [m.obj["kind"] for m in again.manifests] == ["Other"]


async def test_large_and_compressed_secrets_are_read_in_a_thread() -> None:
    calls = []

    async def cpu(fn: Any, *args: Any) -> Any:
        calls.append(fn)
        return fn(*args)

    decoder = Decoder()
    await decoder.decode(secret("large", a=b"#" * 100_000), cpu)
    await decoder.decode(secret("compressed", **{"a.br": b"not brotli"}), cpu)
    assert len(calls) == 2


async def test_small_secrets_are_not_remembered() -> None:
    decoder = Decoder()
    await decoder.decode(secret(a=YAML), refuse)
    assert decoder.size == 0


async def test_only_so_much_is_remembered() -> None:
    decoder = Decoder(limit=1000, worthwhile=0)
    for number in range(20):
        await decoder.decode(secret(f"s{number}", a=YAML), in_thread)
    assert decoder.size <= 1000
