"""What can be typed, and what is said when it cannot be."""

from argparse import ArgumentParser, Namespace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from certwright.cli import main as cli
from certwright.issuer.conformance import Feature
from certwright.issuer.conformance.command import (
    ConformanceOptions,
    IssuerName,
    add_arguments,
    main,
)
from certwright.issuer.conformance.runner import ITEMS, skip_reason
from certwright.issuer.conformance.undertest import IssuerUnderTest
from certwright.kube import Key, Resource


def parsed(*words: str) -> Namespace:
    parser = ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(["--issuer", "g.example/Kind/name", *words])


def test_options_are_read() -> None:
    read = parsed(
        "--kubeconfig", "k", "--unsupported", "Duration", "--unsupported", "IssueCA",
        "--junit", "out.xml", "--timeout", "8m", "--namespace", "shop",
    )  # fmt: skip
    assert read.issuer == IssuerName("g.example", "Kind", "name")
    assert read.unsupported == [Feature.DURATION, Feature.ISSUE_CA]
    assert (read.kubeconfig, read.junit) == (Path("k"), Path("out.xml"))
    assert read.timeout == timedelta(minutes=8)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--issuer", "name"], "'name' is not group/kind/name"),
        (["--unsupported", "Magic"], "'Magic' is not a feature; choose from ACMEUseARI"),
        (["--timeout", "soon"], "'soon'"),
    ],
)
def test_mistakes_are_explained(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parsed(*words)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--issuer", "name"], "--issuer: 'name' is not group/kind/name"),
        (["--issuer", "g/k/n", "--unsupported", "Magic"], "'Magic' is not a feature"),
        (["--issuer", "g/k/n", "--timeout", "soon"], "--timeout"),
    ],
)
def test_the_command_line_explains_them_too(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["certwright", "conformance", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_cluster_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ConformanceOptions(IssuerName("g", "K", "n"), kubeconfig=tmp_path / "none")
    assert main(options) == 2
    told = capsys.readouterr()
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 1
    assert not told.out


NOT_USED: Any = None


def test_a_namespaced_issuer_is_not_asked_by_kubernetes_csrs() -> None:
    resource = Resource("g.example", "v1", "Kind", "kinds", namespaced=True)
    subject = IssuerUnderTest(
        NOT_USED, NOT_USED, Key("here", "name"), resource, "here", {Feature.DURATION: "why"}
    )
    reasons = {skip_reason(item, subject) for item in ITEMS}
    assert reasons == {
        "",
        "Duration is unsupported: why",
        "Kubernetes' own requests reach cluster-wide issuers only",
    }
    assert str(subject) == "g.example/Kind/here/name"
    assert subject.signer == "kinds.g.example/name"
