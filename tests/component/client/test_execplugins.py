"""Logging in with what a program prints: once, again before it expires, never in a loop."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.component.client.conftest import Gate, SteppedClock

from certwright.apiserver.http.certs import TestAuthority
from certwright.client import Config, CredentialError, Material, User
from certwright.client.config import execplugin
from certwright.client.config.config import ExecPlugin, InteractiveMode
from certwright.kube import Key, Unauthorized
from certwright.kube.kinds import ConfigMap

KEY = Key("shop", "web")
V1 = "client.authentication.k8s.io/v1"


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., Any]:
    """Make a plugin of a few lines of Python; it counts its runs in a file."""

    def make(code: str, **options: Any) -> ExecPlugin:
        script = tmp_path / "plugin.py"
        runs = tmp_path / "runs"
        script.write_text(
            "import json, os, sys\n"
            f"open({str(runs)!r}, 'a').write('x')\n"
            f"run = len(open({str(runs)!r}).read())\n"
            "def show(**status):\n"
            f"    print(json.dumps({{'apiVersion': {V1!r}, 'kind': 'ExecCredential', 'status': status}}))\n"
            + code
        )
        return ExecPlugin(sys.executable, V1, (str(script),), **options)

    setattr(make, "runs", lambda: len((tmp_path / "runs").read_text()))  # noqa: B010 - mypy knows no attributes of functions
    return make


async def test_a_plugin_gives_a_token_once(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    plugin: Any,
    gate_for: type[Gate],
) -> None:
    gate = gate_for("from-plugin")
    user = User(exec=plugin("show(token='from-plugin')"))
    client = client_of(Config(await serve(gate), user=user))
    async with asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(client.get(ConfigMap, KEY))
    assert plugin.runs() == 1


async def test_a_plugin_runs_again_when_the_token_expires(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    plugin: Any,
    clock: SteppedClock,
    gate_for: type[Gate],
) -> None:
    expires = (clock.now() + timedelta(hours=1)).isoformat()
    gate = gate_for("t1", "t2")
    user = User(exec=plugin(f"show(token=f't{{run}}', expirationTimestamp={expires!r})"))
    client = client_of(Config(await serve(gate), user=user), clock=clock)
    await client.get(ConfigMap, KEY)
    clock.time += timedelta(minutes=58)
    await client.get(ConfigMap, KEY)
    clock.time += timedelta(minutes=1)  # a minute before the end
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["t1", "t1", "t2"]


async def test_a_login_that_cannot_be_renewed_yet_is_used_until_it_expires(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    plugin: Any,
    clock: SteppedClock,
    gate_for: type[Gate],
) -> None:
    expires = (clock.now() + timedelta(hours=1)).isoformat()
    gate = gate_for("t1", "t3")
    code = f"show(token=f't{{run}}', expirationTimestamp={expires!r}) if run != 2 else sys.exit('down')"
    client = client_of(Config(await serve(gate), user=User(exec=plugin(code))), clock=clock)
    await client.get(ConfigMap, KEY)
    clock.time += timedelta(minutes=59)
    await client.get(ConfigMap, KEY)
    await client.get(ConfigMap, KEY)
    assert plugin.runs() == 2, "not with every request"
    clock.time += timedelta(seconds=11)
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["t1", "t1", "t1", "t3"]


async def test_an_expired_login_whose_plugin_fails_is_no_login(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    plugin: Any,
    clock: SteppedClock,
    gate_for: type[Gate],
) -> None:
    expires = (clock.now() + timedelta(hours=1)).isoformat()
    code = f"show(token='t', expirationTimestamp={expires!r}) if run == 1 else sys.exit('down')"
    user = User(exec=plugin(code))
    client = client_of(Config(await serve(gate_for("t")), user=user), clock=clock)
    await client.get(ConfigMap, KEY)
    clock.time += timedelta(hours=2)
    with pytest.raises(CredentialError, match="down"):
        await client.get(ConfigMap, KEY)


async def test_a_plugin_that_fails_is_no_fork_loop(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    plugin: Any,
    clock: SteppedClock,
    gate_for: type[Gate],
) -> None:
    gate = gate_for("t2")
    user = User(exec=plugin("show(token='t2') if run == 2 else sys.exit('down')"))
    client = client_of(Config(await serve(gate), user=user), clock=clock)
    for _ in range(5):
        with pytest.raises(CredentialError, match="down"):
            await client.get(ConfigMap, KEY)
        clock.time += timedelta(seconds=1)
    assert plugin.runs() == 1
    clock.time += timedelta(seconds=5)  # ten after the failure
    await client.get(ConfigMap, KEY)
    assert plugin.runs() == 2
    assert gate.seen == ["t2"]


async def test_a_plugin_that_fails_after_a_rejection_is_no_fork_loop(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    plugin: Any,
    clock: SteppedClock,
    gate_for: type[Gate],
) -> None:
    user = User(exec=plugin("show(token='old') if run == 1 else sys.exit('down')"))
    client = client_of(Config(await serve(gate_for()), user=user), clock=clock)
    with pytest.raises(Unauthorized):
        await client.get(ConfigMap, KEY)
    clock.time += timedelta(seconds=11)
    for _ in range(5):
        with pytest.raises(CredentialError, match="down"):
            await client.get(ConfigMap, KEY)
        clock.time += timedelta(seconds=1)
    assert plugin.runs() == 2


async def test_a_plugin_that_prints_expired_logins_is_no_fork_loop(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    plugin: Any,
    clock: SteppedClock,
    gate_for: type[Gate],
) -> None:
    expired = (clock.now() - timedelta(hours=1)).isoformat()
    user = User(exec=plugin(f"show(token='t', expirationTimestamp={expired!r})"))
    client = client_of(Config(await serve(gate_for("t")), user=user), clock=clock)
    for _ in range(5):
        await client.get(ConfigMap, KEY)
        clock.time += timedelta(seconds=1)
    assert plugin.runs() == 1


async def test_a_rejected_token_makes_the_plugin_run_once_more(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    plugin: Any,
    clock: SteppedClock,
    gate_for: type[Gate],
) -> None:
    gate = gate_for("t2")
    client = client_of(
        Config(await serve(gate), user=User(exec=plugin("show(token=f't{run}')"))), clock=clock
    )
    with pytest.raises(Unauthorized):
        await client.get(ConfigMap, KEY)  # it ran a moment ago: running it again is no help
    assert plugin.runs() == 1
    clock.time += timedelta(seconds=11)
    await client.get(ConfigMap, KEY)
    assert gate.seen == ["t1", "t1", "t2"]
    async with client.watch(ConfigMap) as lines:
        assert [batch async for batch in lines] == [[b'{"type":"ADDED"}']]


async def test_a_server_that_rejects_everything_is_no_fork_loop(
    serve: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    plugin: Any,
    clock: SteppedClock,
    gate_for: type[Gate],
) -> None:
    client = client_of(
        Config(await serve(gate_for()), user=User(exec=plugin("show(token='x')"))), clock=clock
    )
    for _ in range(5):
        with pytest.raises(Unauthorized):
            await client.get(ConfigMap, KEY)
        clock.time += timedelta(seconds=1)
    assert plugin.runs() == 1


async def test_a_plugin_gives_a_certificate(
    mutual: Callable[..., Awaitable[Any]],
    client_of: Callable[..., Any],
    authority: TestAuthority,
    other_authority: TestAuthority,
    plugin: Any,
) -> None:
    pair = other_authority.client("carol")
    code = f"show(clientCertificateData={pair.certificate.decode()!r}, clientKeyData={pair.key.decode()!r})"
    config = Config(
        await mutual(), ca=Material(authority.certificate), user=User(exec=plugin(code))
    )
    assert (await client_of(config).get(ConfigMap, KEY))["metadata"]["name"] == "carol"


async def test_a_plugin_is_told_about_the_cluster(plugin: Any, tmp_path: Path) -> None:
    told = tmp_path / "told"
    made = plugin(
        f"open({str(told)!r}, 'w').write(os.environ['KUBERNETES_EXEC_INFO'] + os.environ['EXTRA'])\n"
        "show(token='x')",
        env=(("EXTRA", "!"),),
        interactive_mode=InteractiveMode.NEVER,
        cluster_info={"server": "https://api", "config": {"audience": "a"}},
    )
    await execplugin.run(made, "here")
    text = told.read_text()
    assert text.endswith("!")
    assert json.loads(text[:-1]) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {"server": "https://api", "config": {"audience": "a"}},
        },
    }


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("sys.exit('please run: login --again')", "failed with exit code 1: please run: login"),
        ("sys.exit(3)", "failed with exit code 3: it printed no reason"),
        ("print('canary')", "did not print a usable ExecCredential"),
        ("show(token=5)", "did not print a usable ExecCredential: Expected `str`, got `int`"),
        ("show()", "printed neither a token nor a client certificate"),
        ("show(clientCertificateData='x')", "only one of client certificate and key"),
        ("show(token='a', expirationTimestamp='2030-01-01T00:00:00')", "without a time zone"),
        ('print(\'{"apiVersion":"v1","kind":"Pod","status":{}}\')', "printed Pod of v1"),
        ("print('x' * 2**21)", "printed more than 1048576 bytes"),
    ],
)
async def test_a_plugin_that_fails(plugin: Any, code: str, message: str) -> None:
    made = plugin(code)
    with pytest.raises(CredentialError) as caught:
        await execplugin.run(made, "user 'dev' of config")
    assert str(caught.value).startswith(f"user 'dev' of config: the exec plugin {sys.executable!r}")
    assert message in str(caught.value)
    assert "canary" not in str(caught.value)


async def test_a_plugin_that_is_not_installed() -> None:
    made = ExecPlugin("/nowhere/plugin", V1, install_hint="brew install plugin")
    with pytest.raises(CredentialError) as caught:
        await execplugin.run(made, "here")
    assert str(caught.value) == (
        "here: the exec plugin '/nowhere/plugin' cannot be run (No such file or directory): "
        "brew install plugin"
    )


async def test_a_plugin_that_never_ends_is_stopped(plugin: Any, tmp_path: Path) -> None:
    made = plugin(
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nsys.stdin.close(); import threading; threading.Event().wait()"
    )
    with pytest.raises(CredentialError, match=r"did not finish within 0\.5 s"):
        await execplugin.run(made, "here", patience=timedelta(seconds=0.5))
    pid = tmp_path / "pid"
    if pid.exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


async def test_a_plugin_that_needs_a_person(plugin: Any) -> None:
    made = plugin("show(token='x')", interactive_mode=InteractiveMode.ALWAYS)
    with pytest.raises(
        CredentialError, match=r"asks questions \(interactiveMode Always\) and there is no terminal"
    ):
        await execplugin.run(made, "here")
