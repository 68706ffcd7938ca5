"""`certwright rollout` against a server that listens."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.component.cli.conftest import Ask
from tests.support.rollout import job_object, pod_spec, workload_object

from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Deployment, Secret
from certwright.operators.rollout.dialects.choice import NAMES, dialects_of
from certwright.operators.rollout.engine.settings import RolloutSettings
from certwright.operators.rollout.operator import rollout_operator
from certwright.operators.rollout.policy import RECORD
from certwright.runtime import Manager
from certwright.testkit.builders import config_map, secret

RESTART = "rollout.certwright.dev/restart"
WINDOW = "rollout.certwright.dev/window"
Cli = Callable[..., Any]


async def record(client: Client, *names: str) -> None:
    """Run the operator until the contents of Deployments are on record."""
    settings = RolloutSettings(dialects=dialects_of(NAMES))
    manager = Manager(client, [rollout_operator(settings)])
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        for name in names:
            while True:
                found = await client.get(Deployment, Key("default", name))
                if RECORD in (found["metadata"].get("annotations") or {}):
                    break
                await asyncio.sleep(0.05)
        manager.stop()


@pytest.fixture
def shop(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    """Make two Deployments that ask for restarts, one that does not, and have them recorded."""
    pod = pod_spec(["web-tls"], config_maps=["settings"])
    objects = [
        secret("web-tls", {"password": "hunter2-hunter2"}),
        config_map("settings", {"color": "blue"}),
        workload_object("web", pod, annotations={RESTART: "true"}),
        workload_object("api", pod_spec(["web-tls"]), annotations={RESTART: "secrets"}),
        workload_object("other", pod),
    ]

    async def question(client: Client) -> None:
        for obj in objects:
            metadata = {**obj["metadata"], "namespace": "default"}
            await client.create({**obj, "metadata": metadata})
        await record(client, "web", "api")

    ask(question)
    capsys.readouterr()  # its log is not what the commands print


def renew(ask: Ask) -> None:
    ask.patch(Secret, "web-tls", {"stringData": {"password": "correct-horse"}})


def test_why_a_workload_has_what_it_consumes(cli: Cli, shop: None) -> None:
    done = cli("rollout", "why", "deployment/web")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "Deployment default/web: its pods have the present contents"
    assert "  dialect       certwright" in lines
    assert "  last restart  never" in lines
    (digests,) = [line.split() for line in lines if line.startswith("  digests")]
    assert digests[3].rstrip(",") == digests[5]
    assert lines[lines.index("Consumes") + 1 :] == [
        "  ConfigMap default/settings   volume in main: all keys   as recorded",
        "  Secret default/web-tls       volume in main: all keys   as recorded",
    ]
    assert done.err == ""


def test_why_it_is_to_restart_and_has_not(cli: Cli, ask: Ask, shop: None) -> None:
    closed = {"metadata": {"annotations": {WINDOW: "0 0 29 2 * for 1m"}}}
    ask.patch(Deployment, "web", closed)
    renew(ask)
    done = cli("rollout", "why", "deploy/web")
    assert done.out.startswith("Deployment default/web: is to restart")
    assert "changed" in done.out
    assert "Not restarted yet, because" in done.out
    assert "its maintenance window is closed; until " in done.out
    found = json.loads(cli("rollout", "why", "deployments/web", "-o", "json").out)
    assert found["state"] == "pending"
    assert found["digest"]["recorded"] != found["digest"]["present"]
    assert found["waitsFor"][0]["reason"] == "maintenance-window"
    states = {one["name"]: one["state"] for one in found["consumes"]}
    assert states == {"web-tls": "changed", "settings": "as recorded"}
    for value in ("hunter2-hunter2", "correct-horse"):
        assert value not in done.out + json.dumps(found)


def test_why_shows_what_the_secrets_store_driver_mounts(cli: Cli, ask: Ask) -> None:
    attributes = {"secretProviderClass": "vault"}
    csi = {"driver": "secrets-store.csi.k8s.io", "volumeAttributes": attributes}
    pod = {**pod_spec([]), "volumes": [{"name": "v", "csi": csi}]}
    web = workload_object("web", pod, annotations={RESTART: "true"})

    async def question(client: Client) -> None:
        web["metadata"]["namespace"] = "default"
        await client.create(web)

    ask(question)
    done = cli("rollout", "why", "deployment/web")
    assert "  SecretProviderClass default/vault" in done.out
    assert done.code == 0
    done = cli("rollout", "plan", "secretproviderclass/vault")
    assert done.code == 0


def test_why_of_a_job_tells_the_flag_it_takes(cli: Cli, ask: Ask, shop: None) -> None:
    once = job_object("once", ["web-tls"], {"reloader.stakater.com/auto": "true"})

    async def question(client: Client) -> None:
        once["metadata"]["namespace"] = "default"
        await client.create(once)

    ask(question)
    done = cli("rollout", "why", "job/once")
    assert done.code == 0
    assert done.err == (
        "note: Jobs with the annotations of Reloader restart only where the operator has"
        " --recreate-jobs\n"
    )


def test_why_of_one_that_does_not_ask(cli: Cli, shop: None) -> None:
    done = cli("rollout", "why", "deployment/other", "--dialects", "certwright,reloader")
    assert done.out.splitlines() == [
        "Deployment default/other: asks for restarts in none of the dialects that are looked at"
    ]


def test_plan(cli: Cli, shop: None) -> None:
    done = cli("rollout", "plan", "secret/web-tls", "--dialects", "certwright")
    assert done.out.startswith("2 workloads would restart when Secret default/web-tls changes")
    assert done.rows("KIND") == [
        ["Deployment", "api", "certwright"],
        ["Deployment", "web", "certwright"],
    ]
    assert done.out.count("at once") == 2
    none = cli("rollout", "plan", "cm/other")
    assert none.out == "no workload restarts when ConfigMap default/other changes\n"
    found = json.loads(cli("rollout", "plan", "configmap/settings", "-o", "json").out)
    assert [one["name"] for one in found["workloads"]] == ["web"]


def test_status(cli: Cli, ask: Ask, shop: None) -> None:
    ask.patch(Deployment, "web", {"metadata": {"annotations": {RESTART: "perhaps"}}})
    renew(ask)
    done = cli("rollout", "status", "--dialects", "certwright")
    assert done.code == 0
    assert [row[:3] for row in done.rows("KIND")] == [
        ["Deployment", "api", "certwright"],
        ["Deployment", "web", "certwright"],
    ]
    assert done.out.count("pending") == 2
    assert "annotation rollout.certwright.dev/restart: 'perhaps' is none of true" in done.out
    assert cli("rollout", "status", "-A").out.startswith("NAMESPACE")
    words = ("rollout", "status", "--dialects", "certwright", "-o", "json")
    found = json.loads(cli(*words).out)
    states = {one["name"]: one["state"] for one in found["workloads"]}
    assert states == {"api": "pending", "web": "pending"}
    empty = cli("rollout", "status", "-n", "kube-system")
    assert empty.err == "no workload in namespace kube-system asks for restarts\n"


def test_pause_and_resume(cli: Cli, ask: Ask, shop: None) -> None:
    assert cli("rollout", "pause", "deployment/web", "--dry-run").out == (
        "Deployment default/web paused (dry run: nothing was changed)\n"
    )
    renew(ask)
    assert "paused" not in cli("rollout", "why", "deployment/web").out
    done = cli("rollout", "pause", "deployment/web", "--reason", "migration")
    assert done.out == "Deployment default/web paused\n"
    told = cli("rollout", "why", "deployment/web").out
    assert "it is paused (annotation rollout.certwright.dev/paused; migration)" in told
    assert "it is paused" in cli("rollout", "status").out
    assert cli("rollout", "resume", "deployment/web").out == "Deployment default/web resumed\n"
    assert "paused" not in cli("rollout", "why", "deployment/web").out


def test_a_pause_is_shown_before_anything_changes(cli: Cli, ask: Ask, shop: None) -> None:
    cli("rollout", "pause", "deployment/web")
    [told] = [row for row in cli("rollout", "status").out.splitlines() if " web " in row]
    assert "current" in told
    assert told.endswith("would wait: it is paused (annotation rollout.certwright.dev/paused)")


def test_a_pause_is_shown_without_the_key(cli: Cli, shop: None) -> None:
    cli("rollout", "pause", "deployment/web")
    done = cli("rollout", "status", "--key-secret", "default/nowhere")
    [told] = [row for row in done.out.splitlines() if " web " in row]
    assert "unknown" in told
    assert told.endswith("would wait: it is paused (annotation rollout.certwright.dev/paused)")
    assert done.err.endswith("there is none; it is created by: certwright rollout run\n")


def test_a_misspelt_source_is_told(cli: Cli, shop: None) -> None:
    done = cli("rollout", "plan", "secret/web-tsl")
    assert done.out == "no workload restarts when Secret default/web-tsl changes\n"
    assert (
        done.err
        == "note: there is no Secret default/web-tsl now; choose another namespace with -n\n"
    )


def test_who_may_not_read_the_key_is_told(
    cli: Cli, shop: None, as_reader_of: Callable[..., Any]
) -> None:
    words = as_reader_of("deployments", "namespaces", "configmaps")
    done = cli("rollout", "why", "deployment/web", *words)
    assert done.code == 0
    assert "whether it is to restart is not known" in done.out
    key = "what has changed is not known without the key in Secret kube-system"
    assert f"note: {key}/certwright-rollout-key: " in done.err
    assert "note: Secret default/web-tls cannot be read: " in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("why", "web"), "'web' is no workload; write it like deployment/web"),
        (("why", "pod/web"), "'pod/web' is no workload"),
        (
            ("why", "deployment/nowhere"),
            "there is no Deployment nowhere in namespace default; choose",
        ),
        (("pause", "deployment/nowhere"), "there is no Deployment nowhere in namespace default; "),
        (("plan", "web-tls"), "'web-tls' is no source; write it like secret/web-tls"),
        (("plan", "secret/A"), "secret 'A': "),
        (("status", "--dialects", "latin"), "--dialects: latin; there are certwright, redhat"),
        (("status", "--key-secret", "x"), "--key-secret: 'x' is not NAMESPACE/NAME"),
        (("run", "--webhook-url", "http://x"), "--webhook-url is not supported"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes_are_one_line(cli: Cli, words: tuple[str, ...], told: str) -> None:
    done = cli("rollout", *words)
    assert done.code == 2
    assert done.err.startswith(f"error: {told}")


# As a process


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    api = ApiServer()
    async with api.serve() as endpoint, Client(api.transport()) as client:
        endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        yield client


async def test_it_runs_with_the_flags_of_reloader(
    start: Callable[..., Awaitable[Any]], client: Client, until: Callable[..., Awaitable[Any]]
) -> None:
    annotations = {"reloader.stakater.com/auto": "true"}
    made = workload_object("web", pod_spec(["web-tls"]), annotations=annotations)
    for obj in (secret("web-tls", {"k": "1"}), made):
        await client.create({**obj, "metadata": {**obj["metadata"], "namespace": "default"}})
    run = await start(
        "rollout", "run", "--kubeconfig", "kubeconfig", "--quiet", "0s", "--log-level=info",
        "--reload-strategy", "annotations", "--metrics-addr", "127.0.0.1:0", "--enable-ha",
        "--health-probe-addr", "127.0.0.1:0", "--sync-after-restart=true",
    )  # fmt: skip

    async def web() -> JsonObject:
        return await client.get(Deployment, Key("default", "web"))

    async def is_recorded() -> bool:
        return RECORD in (await web())["metadata"]["annotations"]

    async def is_restarted() -> Any:
        metadata = (await web())["spec"]["template"]["metadata"]
        return (metadata.get("annotations") or {}).get("reloader.stakater.com/last-reloaded-from")

    await until(is_recorded)
    assert not await is_restarted()
    patch = {"stringData": {"k": "2"}}
    await client.patch(Secret, Key("default", "web-tls"), patch)
    assert json.loads(await until(is_restarted))["name"] == "web-tls"
    assert await run.end(signal.SIGTERM) == 0
    assert "--sync-after-restart has no effect" in run.text
