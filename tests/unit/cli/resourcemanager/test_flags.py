"""Flags of the resource manager, as they are typed."""

from pathlib import Path

import pytest

from certwright.cli.resourcemanager.flags import parse
from certwright.operators.managedresource.configuration import FLAGS, load_with_flags


def test_nothing_typed_overrides_nothing() -> None:
    assert parse([]).flags == {}


def test_every_flag_is_understood_and_reaches_the_configuration() -> None:
    values = {
        "-workers": "3", "retry-period": "2s", "-period": "1m", "-lifetime": "1m", "-duration": "20s",
        "-deadline": "10s", "-address": ":9999", "-lock": "leases", "-level": "debug",
        "allowed-service-account": "x/*",
    }  # fmt: skip
    words = []
    for flag in FLAGS:
        value = next((v for end, v in values.items() if flag.name.endswith(end)), None)
        switches = (
            "-controller",
            "-requestor",
            "-collector",
            "-update",
            "-cache",
            "--leader-election",
        )
        if value is None:
            value = "true" if flag.name.endswith(switches) else "x"
        words.append(f"{flag.name}={value}")
    given = parse(words)
    assert given.flags.keys() == {flag.name for flag in FLAGS}
    load_with_flags({}, given.flags)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--always-update"], True),
        (["--always-update=true"], True),
        (["--always-update=F"], False),
        (["--always-update", "false"], False),
        (["--always-update=0"], False),
    ],
)
def test_switches(words: list[str], *, meant: bool) -> None:
    assert parse(words).flags == {"--always-update": meant}


def test_lists_and_numbers() -> None:
    given = parse(["--namespace", "a", "--namespace=b", "--max-concurrent-workers", "7"])
    assert given.flags == {"--namespace": ["a", "b"], "--max-concurrent-workers": 7}


def test_a_file() -> None:
    assert parse(["--config", "c.yaml"]).config == Path("c.yaml")


@pytest.mark.parametrize("words", [["--sync"], ["--always-update=maybe"], ["--nonsense", "1"]])
def test_nonsense_ends_with_an_explanation(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        parse(words)
    assert ending.value.code == 2
    assert "usage: certwright resource-manager" in capsys.readouterr().err
