"""Conversations with kubectl, recorded on the real server: both servers must answer so.

A transcript is what a person would see, without what differs from run to run. The commands run
in ``manifests/``, in a namespace of the transcript's name. To record the answers anew after a
change of commands or of the pinned Kubernetes, and review them like code::

    CERTWRIGHT_RECORD=1 pytest tests/integration/kubectl/test_transcripts.py --certwright-real -m real
"""

import os
import re
import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from certwright.testkit.controlplane.assets import kubernetes_version

HERE = Path(__file__).parent
TRANSCRIPTS = sorted((HERE / "transcripts").glob("*.txt"))
PROMPT = "$ "
PATIENCE_SECONDS = 60.0

pytestmark = [pytest.mark.kubectl, pytest.mark.timeout(180)]

NOISE = [
    (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uid>"),
    (r'(resourceVersion"?: )"\d+"', r'\1"<version>"'),
    (r"(Resource Version: +)\d+", r"\1<version>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000)", "<time>"),
    (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r"\b10(\.\d+){3}\b", "<ip>"),
    (r"\b3[0-2]\d{3}\b", "<port>"),
    (r"https://127\.0\.0\.1:\d+", "<server>"),
    (r"/\S*/(LIVE|MERGED)-\d+", r"<\1>"),
    (r"/\S*/kubectl-edit-\d+\.yaml", "<edited>"),
    (r"(?<=[ \n])\d+s\b", "<age>"),
    (r"(?m)^Waiting for .*\n", ""),  # how often depends on who is faster
    (r"(?m)^[IWE]\d{4} .*\n", ""),  # kubectl's own log
    (r"(?<=\S) {2,}", "  "),  # columns are as wide as what was in them
    (r"(?m)[ \t]+$", ""),
]


def quiet(text: str) -> str:
    """Take out what differs from run to run; columns move with it."""
    for pattern, substitute in NOISE:
        text = re.sub(pattern, substitute, text)
    return text


def commands(path: Path) -> list[str]:
    lines = path.read_text("utf-8").splitlines()
    return [line.removeprefix(PROMPT) for line in lines if line.startswith(PROMPT)]


def answers(path: Path) -> list[str]:
    """Return the parts of a transcript: each a command and the answer to it."""
    text = path.read_text("utf-8").removeprefix(PROMPT).removesuffix("\n\n")
    return [f"{PROMPT}{part}\n\n" for part in text.split(f"\n\n{PROMPT}")]


def converse_until(kubectl: Any, expected: str, patience: float) -> str:
    """Give a command until the answer is as expected, for the real server does much later.

    Kinds are told of, roles are heeded and workloads come up some time after they were asked for.
    A command that was carried out although its answer is another one gets no better by repetition.
    """
    command = expected.partition("\n")[0].removeprefix(PROMPT)
    deadline = time.monotonic() + patience
    while True:
        answer = converse(kubectl, command)
        if answer == expected or time.monotonic() >= deadline:
            return answer
        time.sleep(0.2)


def converse(kubectl: Any, command: str) -> str:
    words = shlex.split(command)
    environment = {}
    while (word := words.pop(0)) != "kubectl":
        name, _, value = word.partition("=")
        environment[name] = value
    answer = kubectl.ask(*words, **environment)
    ending = f"[exit code {answer.code}]\n" if answer.code else ""
    said = quiet(answer.out + ("" if answer.out.endswith("\n") or not answer.out else "\n"))
    return f"{PROMPT}{command}\n{said}{quiet(answer.err)}{ending}\n"


@pytest.mark.parametrize("server", ["embedded", pytest.param("real", marks=pytest.mark.real)])
@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_transcript(
    server: Any, path: Any, request: pytest.FixtureRequest, *, is_pinned: bool
) -> None:
    if not is_pinned:
        pytest.skip(f"no kubectl {kubernetes_version()}: `make test-real` builds it")
    kubectl = request.getfixturevalue(server)
    kubectl("create", "namespace", path.stem)
    kubectl = replace(kubectl, namespace=path.stem)
    for made in ("serviceaccount/default", "configmap/kube-root-ca.crt"):
        kubectl("wait", made, "--for=create", "--timeout=50s")

    if server == "real" and os.environ.get("CERTWRIGHT_RECORD"):
        path.write_text("".join(converse(kubectl, each) for each in commands(path)), "utf-8")
        return
    patience = PATIENCE_SECONDS if server == "real" else 0.0
    for expected in answers(path):
        assert converse_until(kubectl, expected, patience) == expected
