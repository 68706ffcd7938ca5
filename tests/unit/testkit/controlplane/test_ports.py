"""Ports for servers: free, and not among those that connections use up."""

import socket
from pathlib import Path

import pytest

from certwright.testkit.controlplane import component
from certwright.testkit.controlplane.component import free_ports


def test_ports_are_different_and_free() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    for port in ports:
        with socket.socket() as one:
            one.bind(("127.0.0.1", port))


def test_the_kernel_does_not_give_them_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "range"
    monkeypatch.setattr(component, "_GIVEN_PORTS", given)
    given.write_text("20000\t60999\n", "ascii")
    assert all(10_240 <= port < 20_000 for port in free_ports(50))


@pytest.mark.parametrize("text", [None, "", "1024 65535"])
def test_without_a_range_beside_them_the_kernel_chooses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    given = tmp_path / "range"
    monkeypatch.setattr(component, "_GIVEN_PORTS", given)
    if text is not None:
        given.write_text(text, "ascii")
    assert all(free_ports(3))


def test_ports_that_are_taken_are_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        chosen = iter([taken.getsockname()[1], 0])
        monkeypatch.setattr(component, "_any_port", lambda: next(chosen))
        assert free_ports(1) != [taken.getsockname()[1]]
