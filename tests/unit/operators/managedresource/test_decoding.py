"""Reading Secrets once, within a bound."""

import base64
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from certwright.api.managedresources import ManagedResource
from certwright.apply.manifests.compression import pack_brotli
from certwright.kube import crd_manifest
from certwright.kube.kinds import Secret
from certwright.operators.managedresource.declared import (
    INPUT_LIMITS,
    Decoder,
    combined_input,
    decode_secret,
)
from certwright.runtime import Entry
from certwright.runtime.cache.decode import EntryDecoder

NOISE = f"# {random.Random(1).randbytes(20_000).hex()}"  # noqa: S311 - or its ratio is too good
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


async def test_secrets_of_one_resource_share_a_budget() -> None:
    half = b"# " + b"x" * (INPUT_LIMITS.size // 2)
    first, second, third = secret("a", k=half), secret("b", k=half), secret("c", k=half)
    decoder = Decoder()
    alone = await decoder.decode_all([second], in_thread)
    assert not alone[0].errors
    decoded = await decoder.decode_all([first, second, third], in_thread)
    assert [len(one.errors) for one in decoded] == [0, 1, 1]
    assert decoded[1].errors[0].problem == "more than 12582912 bytes of manifests"
    assert not (await decoder.decode_all([second], in_thread))[0].errors, "remembered by mistake"


async def test_values_count_together_though_remembered() -> None:
    many = b'{"x":[' + b"1," * (INPUT_LIMITS.nodes // 2) + b"1]}"
    decoder = Decoder()
    pair = [secret("a", k=many), secret("b", k=many)]
    for entry in pair:
        assert not (await decoder.decode_all([entry], in_thread))[0].errors
    decoded = await decoder.decode_all(pair, in_thread)
    assert [len(one.errors) for one in decoded] == [0, 1]


async def test_compressed_secrets_share_it_too() -> None:
    packed = pack_brotli(NOISE.encode() + b" " * 7 * 2**20)
    decoder = Decoder()
    pair = [secret("a", **{"k.br": packed}), secret("b", **{"k.br": packed})]
    decoded = await decoder.decode_all(pair, in_thread)
    assert [len(one.errors) for one in decoded] == [0, 1]


async def test_a_secret_referred_to_many_times_is_read_once() -> None:
    calls = []

    async def cpu(fn: Any, *args: Any) -> Any:
        calls.append(fn)
        return fn(*args)

    entry = secret("s", **{"a.br": pack_brotli(YAML)})
    decoded = await Decoder(worthwhile=10**9).decode_all([entry] * 400, cpu)
    assert (len(decoded), len(calls)) == (400, 1)
    assert all(one is decoded[0] for one in decoded)
    found = combined_input(decoded, lambda _: True)
    assert (len(found.objects), len(found.undecodable)) == (1, 1)


def test_references_are_limited() -> None:
    schema = crd_manifest(ManagedResource)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"]["properties"]["secretRefs"]["maxItems"] == 1000


WORST: dict[str, Callable[[], str]] = {
    "a long text of wide characters": lambda: 'data: {k: "' + "ä\U0001f600" * 1_380_000 + '"}',
    "many maps": lambda: "x:\n" + "- {}\n" * 499_000,
    "many names": lambda: "x:\n" + "".join(f"  name{n}: {n}.5\n" for n in range(249_000)),
    "many names as JSON": lambda: (
        "{" + ",".join(f'"name{n}":{{"a":1.5}}' for n in range(160_000)) + "}"
    ),
    "many documents": lambda: "".join(
        f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a{n}}}\nspec: {{a: {{b: [{{c: 1}}]}}}}\n"
        for n in range(9_990)
    ),
}
MEASURE = """
import re, sys
from pathlib import Path
import certwright.cli.resourcemanager.process
from certwright.kube import Key
from certwright.operators.managedresource.declared import combined_input, decode_secret
from certwright.apply.manifests.limits import Budget
from certwright.operators.managedresource.declared import INPUT_LIMITS, _decode
from certwright.kube.kinds import Secret
from certwright.runtime.cache.decode import EntryDecoder
entry = EntryDecoder(Secret).entry(sys.stdin.buffer.read())
decoded, packed = _decode(entry, entry.obj()["data"], Budget(INPUT_LIMITS))
found = combined_input([decoded] * 400, lambda kind: True)
assert not decoded.errors, decoded.errors
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


IN_SHORT = {"many names", "many documents"}
"""What takes most memory; the others take as long and are left to the longer run."""


@pytest.mark.parametrize(
    "worst",
    [pytest.param(name, marks=() if name in IN_SHORT else pytest.mark.real) for name in WORST],
)
def test_the_worst_input_that_is_accepted_takes_little_memory(worst: str) -> None:
    text = WORST[worst]()
    content = f"{text}\n{NOISE}" if text.startswith("{") else f"{NOISE}\n{text}\n"
    before = f'{NOISE}\ndata: {{k: "{"ä" * 1_900_000}"}}'  # is kept while the rest is read
    packed = {"a.br": pack_brotli(before.encode()), "k.br": pack_brotli(content.encode())}
    raw = secret("s", **packed).raw
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], input=raw, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert int(done.stdout) <= 128, f"{int(done.stdout)} MiB"
