"""Manifests mean the same to certwright as to kubectl. No server is asked."""

import json
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certwright.apply import read_text
from certwright.kube import JsonObject

pytestmark = pytest.mark.kubectl

SEED = 20261115
ALPHABET = "0123456789_+-.eExXbBoO"
RARE = ALPHABET + "aAfFnNyYtTrRuUsSlL:~/"
HEAD = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: x}\n"


@pytest.fixture
def read(binary: str, tmp_path: Path) -> Callable[..., Any]:
    """Return what kubectl makes of a stream, as objects."""

    def ask(text: str) -> list[JsonObject]:
        path = tmp_path / "stream.yaml"
        path.write_text(text, "utf-8")
        told = subprocess.run(
            [binary, "annotate", "--local", "--filename", path, "--output=json", "a=b"],
            capture_output=True, check=True, timeout=30, env={"HOME": str(tmp_path)},
        ).stdout.decode()  # fmt: skip
        objects = [manifest.obj for manifest in read_text(told, "kubectl").require()]
        for obj in objects:
            del obj["metadata"]["annotations"]
        return objects

    return ask


def ours(text: str) -> list[JsonObject]:
    return [manifest.obj for manifest in read_text(text, "ours").require()]


def test_scalars(read: Callable[..., Any]) -> None:
    rng = random.Random(SEED)  # noqa: S311 - test data
    words = [
        "".join(rng.choices(ALPHABET if rng.random() < 0.7 else RARE, k=rng.randint(1, 8)))
        for _ in range(20_000)
    ]
    lines = [f"  k{n}: {word}" for n, word in enumerate(words) if word != "-" and word[-1] != ":"]
    text = HEAD + "spec:\n" + "\n".join(lines)
    expected, told = read(text)[0]["spec"], ours(text)[0]["spec"]
    differing = {
        line: (expected[k], told[k])
        for line in lines
        if expected[k := line.split(":")[0].strip()] != told[k]
    }
    assert not differing
    types = [{key: type(value) for key, value in spec.items()} for spec in (expected, told)]
    assert types[0] == types[1]


@pytest.mark.parametrize(
    "text",
    [
        f"---\n{HEAD}---\n---\n---\n# remark\n--- # note\n{HEAD}---\n",
        f"{HEAD}spec: {{a: &x {{b: on, c: 1}}, d: {{c: 2, <<: *x}}, e: {{<<: *x, c: 3}}, 1e6: 010, off: ~}}\n",
        json.dumps({"kind": "Widget", "apiVersion": "e.io/v1", "metadata": {"name": "x"}, "a": "\U0001f600"}) * 2,
        f'{{"kind":"Widget","apiVersion":"e.io/v1","metadata":{{"name":"x"}}}}\n---\n{HEAD}',
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: e.io/v1, kind: Widget, metadata: {name: x}, a: 1.0}\n",
    ],
    ids=["separators", "merges", "json", "json, then yaml", "list"],
)  # fmt: skip
def test_streams(read: Callable[..., Any], text: str) -> None:
    assert read(text) == ours(text)
