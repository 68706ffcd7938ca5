"""Streams of documents, plain and compressed: what can be read is applied, the rest is named.

What a server contributes here is little; that the objects arrive as they were meant is all.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import brotli
import pytest
from tests.component.operators.managedresource.conftest import Keeping

from certwright.apply import pack_brotli
from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map

MIB = 2**20


def yaml(keeping: Keeping, name: str, **fields: Any) -> str:
    """Return a ConfigMap as YAML in block style."""
    lines = [
        "apiVersion: v1",
        "kind: ConfigMap",
        "metadata:",
        f"  name: {name}",
        f"  namespace: {keeping.namespace}",
    ]
    lines += [f"{field}: {value}" for field, value in fields.items()]
    return "\n".join(lines) + "\n"


def error_at(keeping: Keeping, index: int, key: str = "objects") -> str:
    """Return how the message about a document begins."""
    return (
        f"Could not decode resource at index {index} in '{key}' in secret "
        f"'{keeping.namespace}/web': "
    )


async def refused_documents(keeping: Keeping, name: str = "web") -> int:
    """Return how many documents the condition says cannot be read."""
    assert (await keeping.conditions(name))["Applied"] == "False/DecodingFailed"
    message = await keeping.message(name)
    assert message.startswith("Could not decode all new resources: [Could not decode")
    return message.count("Could not decode resource at index")


@pytest.mark.scenario("MR-2")
async def test_the_order_of_keys_does_not_matter_and_that_of_references_does(
    keeping: Keeping,
) -> None:
    await keeping.install()
    first = {"b": keeping.json(config_map("b")), "a": keeping.json(config_map("a"))}
    second = {"d": keeping.json(config_map("d")), "c": keeping.json(config_map("c"))}
    await keeping.cluster.create(keeping.secret_with("two"))
    await keeping.cluster.create(keeping.secret_with("one"))
    await keeping.rewrite_data("one", first)
    await keeping.rewrite_data("two", second)
    await keeping.cluster.create(keeping.managed_resource("web", "two", "one"))
    await keeping.settle()
    status = await keeping.status("web")
    expected = hashlib.sha256("".join([second["c"], second["d"], first["a"], first["b"]]).encode())
    assert status["secretsDataChecksum"] == expected.hexdigest()
    assert await keeping.inventory("web") == [f"ConfigMap/{name}" for name in "abcd"]

    await keeping.cluster.stop()
    await keeping.rewrite_data("one", {"nothing": ""})
    await keeping.rewrite_data("one", dict(reversed(first.items())))
    calls = await keeping.settle()
    assert calls.writes == 0
    assert await keeping.status("web") == status


@pytest.mark.scenario("MR-3")
async def test_json_objects_may_follow_each_other(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    text = keeping.json(config_map("a")) + keeping.json(config_map("b"))
    await keeping.declare_data("web", {"objects": text})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}


@pytest.mark.scenario("MR-4")
async def test_yaml_may_follow_json(keeping: Keeping, healthy: dict[str, str]) -> None:
    text = f"{keeping.json(config_map('a'))}\n---\n{yaml(keeping, 'b')}"
    await keeping.declare_data("web", {"objects": text})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}


@pytest.mark.scenario("MR-5")
async def test_documents_that_say_nothing_are_skipped_and_counted(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    text = f"---\n{yaml(keeping, 'a')}---\n\n---\n# nothing\n---\nnull\n---\n{yaml(keeping, 'b')}"
    await keeping.declare_data("web", {"objects": f"{text}---\n"})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.inventory("web") == ["ConfigMap/a", "ConfigMap/b"]

    await keeping.rewrite_data("web", {"objects": f"{text}---\n[no, object]\n---\n"})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    assert error_at(keeping, 5) in await keeping.message("web")


@pytest.mark.scenario("MR-6")
async def test_a_separator_may_bear_a_comment_and_nothing_else(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    text = f"{yaml(keeping, 'a')}--- # note\n{yaml(keeping, 'b')}"
    await keeping.declare_data("web", {"objects": text})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}

    await keeping.rewrite_data("web", {"objects": f"{text}---foo\n{yaml(keeping, 'c')}"})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    told = f"{error_at(keeping, 2)}line 12: invalid document separator: more than --- on its line."
    assert told in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "a", "b", "c") == {"a", "b"}


@pytest.mark.scenario("MR-7")
@pytest.mark.parametrize("document", ["- a\n- b\n", "only text\n", "42\n", '["json"]\n'])
async def test_a_document_that_is_no_mapping_keeps_nobody_else(
    keeping: Keeping, document: str
) -> None:
    text = f"{yaml(keeping, 'a')}---\n{document}---\n{yaml(keeping, 'b')}"
    await keeping.declare_data("web", {"objects": text})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    assert error_at(keeping, 1) in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}


async def test_a_refused_object_does_not_hide_a_document_that_cannot_be_read(
    keeping: Keeping,
) -> None:
    await keeping.declare_data("web", {"objects": yaml(keeping, "a")})
    await keeping.settle()
    text = f"{yaml(keeping, 'In_Valid')}---\n- a\n---\n{yaml(keeping, 'b')}"
    await keeping.rewrite_data("web", {"objects": text})
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    message = await keeping.message("web")
    refused = f'error during apply of object "v1/ConfigMap/{keeping.namespace}/In_Valid": '
    assert message.startswith(refused)
    assert f". Could not decode all new resources: [{error_at(keeping, 1)}" in message
    assert await keeping.events("ApplyFailed") == [message]
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}, "and nothing is deleted"


@pytest.mark.scenario("MR-8")
async def test_compressed_is_the_same_but_for_the_checksum(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    text = keeping.json(config_map("a")) + keeping.json(config_map("b"))
    await keeping.declare_data("web", {"objects": text})
    await keeping.settle()
    plain = await keeping.status("web")
    packed = pack_brotli(text.encode())
    await keeping.rewrite_data("web", {"objects.br": packed})
    calls = await keeping.settle()
    compressed = await keeping.status("web")
    assert calls.of("ConfigMap").writes == 0
    assert await keeping.conditions("web") == healthy
    assert compressed["resources"] == plain["resources"]
    assert plain["secretsDataChecksum"] == hashlib.sha256(2 * text.encode()).hexdigest()
    assert compressed["secretsDataChecksum"] == hashlib.sha256(2 * packed).hexdigest()


@pytest.mark.scenario("MR-8")
async def test_a_new_managed_resource_may_be_compressed(
    keeping: Keeping, healthy: dict[str, str]
) -> None:
    text = keeping.json(config_map("a"))
    await keeping.declare_data("web", {"objects.br": pack_brotli(text.encode())})
    await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(ConfigMap, "a") == {"a"}


def truncated(text: bytes) -> bytes:
    return pack_brotli(text)[:-3]


def corrupt(text: bytes) -> bytes:
    packed = bytearray(pack_brotli(text))
    packed[len(packed) // 2] ^= 0xFF
    packed[1] ^= 0xFF
    return bytes(packed)


def not_brotli(text: bytes) -> bytes:
    return text


def followed_by_more(text: bytes) -> bytes:
    return pack_brotli(text) + b"more"


@pytest.mark.scenario("MR-9")
@pytest.mark.parametrize("damage", [truncated, corrupt, not_brotli, followed_by_more])
async def test_damaged_compression_is_one_error_and_deletes_nothing(
    keeping: Keeping, damage: Callable[..., Any]
) -> None:
    objects = [config_map(f"cm-{number}", {"n": str(number)}) for number in range(5)]
    good = "".join(keeping.json(obj) for obj in objects).encode()
    await keeping.declare_data("web", {"objects.br": pack_brotli(good)})
    await keeping.settle()
    before = await keeping.inventory("web")
    other = keeping.json(config_map("other"))
    await keeping.rewrite_data("web", {"objects.br": damage(good), "other": other})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    assert error_at(keeping, 0, "objects.br") in await keeping.message("web")
    assert len(await keeping.cluster.list(ConfigMap, labels=keeping.label)) == 6
    assert await keeping.inventory("web") == [*before, "ConfigMap/other"]


def bomb(gibibytes: int) -> bytes:
    """Return Brotli data that unpacks to zeros: the second step of a stream, repeated."""
    compressor = brotli.Compressor(quality=2, lgwin=24)
    zeros = bytes(16 * MIB)
    first = compressor.process(zeros) + compressor.flush()
    again = compressor.process(zeros) + compressor.flush()
    value: bytes = first + again * (gibibytes * 1024 // 16 - 1) + compressor.finish()
    return value


@pytest.mark.scenario("MR-10")
async def test_a_bomb_is_refused_at_the_cap(keeping: Keeping) -> None:
    other = keeping.json(config_map("other"))
    await keeping.declare_data("web", {"objects": keeping.json(config_map("a")), "other": other})
    await keeping.settle()
    small = bomb(10)
    assert len(small) < 16 * 1024
    await keeping.rewrite_data("web", {"objects.br": small, "other": other})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    assert f"{len(small)} bytes of Brotli become more than {8 * 2**20}." in await keeping.message(
        "web"
    )
    assert error_at(keeping, 0, "objects.br") in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "a", "other") == {"a", "other"}


@pytest.mark.scenario("MR-10")
async def test_little_data_must_not_become_much(keeping: Keeping) -> None:
    small = brotli.compress(bytes(4 * MIB))  # half of what all documents may take
    assert len(small) < 1000
    await keeping.declare_data("web", {"objects.br": small})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    expected = f"{len(small)} bytes of Brotli become more than {MIB}."
    assert expected in await keeping.message("web")


@pytest.mark.scenario("MR-10")
async def test_aliases_that_unfold_to_too_much_are_refused(keeping: Keeping) -> None:
    laughs = ["a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    laughs += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    text = f"{yaml(keeping, 'a')}---\n" + "\n".join(laughs)
    await keeping.declare_data("web", {"objects": text})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    assert error_at(keeping, 1) in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "a") == {"a"}


async def test_what_contains_itself_is_refused(keeping: Keeping) -> None:
    text = f"{yaml(keeping, 'a')}---\n&self\nkind: ConfigMap\nmetadata: *self\n"
    await keeping.declare_data("web", {"objects": text})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    assert error_at(keeping, 1) in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "a") == {"a"}


async def test_what_is_nested_too_deeply_is_refused(keeping: Keeping) -> None:
    deep = '{"kind": ' + '{"a": ' * 5000 + "1" + "}" * 5001
    await keeping.declare_data("web", {"objects": f"{yaml(keeping, 'a')}---\n{deep}"})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    assert "nested more than 100 levels deep" in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "a") == {"a"}


@pytest.mark.scenario("MR-11")
async def test_a_broken_stream_of_json_ends(keeping: Keeping) -> None:
    good = keeping.json(config_map("a")) + keeping.json(config_map("b"))
    await keeping.declare_data("web", {"objects": good + '{"kind": "ConfigM'})
    await keeping.settle()
    assert await refused_documents(keeping) == 1
    assert error_at(keeping, 2) in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "a", "b") == {"a", "b"}
    assert (await keeping.status("web"))["observedGeneration"] == 1
