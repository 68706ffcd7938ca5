"""What the Secrets Store CSI driver mounts: pods restart once for new contents, by its statuses."""

from collections.abc import Iterable
from typing import Any

import pytest
from tests.component.operators.rollout.engine.conftest import EmbeddedRolling
from tests.support.rollout import pod_spec

from certwright.kube import JsonObject
from certwright.kube.kinds import Deployment
from certwright.operators.rollout.dialects.certwright import ALSO, RESTART, CertwrightDialect
from certwright.operators.rollout.dialects.reloader import ReloaderDialect
from certwright.operators.rollout.dialects.reloaderoptions import (
    LAST_RELOADED_FROM,
    ReloaderOptions,
    ReloadStrategy,
)
from certwright.operators.rollout.engine.providerclasses import POD_STATUS
from certwright.operators.rollout.operator import served_sources
from certwright.operators.rollout.policy import RECORD, Dialect
from certwright.operators.rollout.workload import BUILT_IN_SOURCES, SourceKind
from certwright.runtime import Entry

AUTO = "reloader.stakater.com/auto"
CSI = ReloaderOptions(
    sources=frozenset(SourceKind),
    on_create=True,
    on_delete=True,
    strategy=ReloadStrategy.ANNOTATIONS,
)
ASKED: dict[str, tuple[Dialect, dict[str, str]]] = {
    "ours": (CertwrightDialect(), {RESTART: "true"}),
    "auto": (ReloaderDialect(CSI), {AUTO: "true"}),
    "typed": (ReloaderDialect(CSI), {"secretproviderclass.reloader.stakater.com/auto": "true"}),
    "named": (ReloaderDialect(CSI), {"secretproviderclass.reloader.stakater.com/reload": "vault"}),
    "matching": (ReloaderDialect(CSI), {"secretproviderclass.reloader.stakater.com/reload": "v.*"}),
}
PODS = ("web-1", "web-2")
DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{POD_STATUS.plural}.{POD_STATUS.group}"},
    "spec": {
        "group": POD_STATUS.group,
        "scope": "Namespaced",
        "names": {"kind": POD_STATUS.kind, "plural": POD_STATUS.plural},
        "versions": [
            {
                "name": POD_STATUS.version,
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


def mounting(name: str = "vault") -> JsonObject:
    """Return a pod that mounts a class."""
    attributes = {"secretProviderClass": name}
    csi = {"driver": "secrets-store.csi.k8s.io", "readOnly": True, "volumeAttributes": attributes}
    spec = pod_spec([])
    spec["volumes"] = [{"name": "v", "csi": csi}]
    spec["containers"][0]["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
    return spec


def pod_status(pod: str, version: str, **status: Any) -> JsonObject:
    """Return what the driver reports of a pod."""
    mounted = {
        "podName": pod,
        "secretProviderClassName": "vault",
        "mounted": True,
        "objects": [{"id": "db/password", "version": version}],
    }
    return {
        "apiVersion": POD_STATUS.api_version,
        "kind": POD_STATUS.kind,
        "metadata": {"name": f"{pod}-default-vault"},
        "status": {**mounted, **status},
    }


class Mounted:
    """Pods that mount a class, and what the driver does."""

    def __init__(self, rolling: EmbeddedRolling) -> None:
        self.rolling = rolling

    async def begin(self, how: str = "auto", pods: Iterable[str] = PODS, **settings: Any) -> None:
        """Run the operator with a workload of two pods."""
        dialect, annotations = ASKED[how]
        await self.rolling.cluster.install(DEFINITION)
        await self.rolling.workload(pod=mounting(), annotations=annotations)
        for pod in pods:
            await self.rolling.cluster.create(pod_status(pod, "1"))
        given = {"sources": frozenset(SourceKind), **settings}
        await self.rolling.run(dialects=[dialect], **given)
        await self.rolling.rolled_out()
        await self.rolling.wait()

    async def rotate(self, pod: str, version: str) -> None:
        """Let the driver fetch other contents for a pod."""
        changes = {"status": pod_status(pod, version)["status"]}
        await self.rolling.cluster.patch(POD_STATUS, f"{pod}-default-vault", changes)

    async def replace(self, pod: str, other: str, version: str) -> None:
        """Let another pod take the place of one."""
        await self.rolling.cluster.create(pod_status(other, version))
        await self.rolling.cluster.delete(POD_STATUS, f"{pod}-default-vault")


@pytest.fixture
def mounted(rolling: EmbeddedRolling) -> Mounted:
    return Mounted(rolling)


@pytest.mark.parametrize("how", ASKED)
async def test_pods_restart_once_however_many_are_updated(
    mounted: Mounted, rolling: EmbeddedRolling, how: str
) -> None:
    await mounted.begin(how)
    assert '"SecretProviderClass/vault"' in await rolling.record()
    await mounted.rotate("web-1", "2")
    await rolling.wait(1)
    await mounted.rotate("web-2", "2")
    await rolling.wait()
    assert await rolling.restarts() == 1
    await rolling.rolled_out()
    await mounted.replace("web-1", "web-3", "2")
    await mounted.replace("web-2", "web-4", "2")
    await rolling.wait(minutes=5)
    assert await rolling.restarts() == 1


async def test_a_pod_that_is_not_updated_yet_is_no_change_back(
    mounted: Mounted, rolling: EmbeddedRolling
) -> None:
    await mounted.begin()
    await mounted.rotate("web-2", "2")
    await rolling.wait()
    assert await rolling.restarts() == 1
    await rolling.rolled_out()
    await rolling.cluster.delete(POD_STATUS, "web-2-default-vault")  # web-1 has the old contents
    await rolling.wait(minutes=5)
    assert await rolling.restarts() == 1
    await mounted.rotate("web-1", "2")
    await rolling.wait()
    assert await rolling.restarts() == 1
    await mounted.rotate("web-1", "3")
    await rolling.wait()
    assert await rolling.restarts() == 2


async def test_pods_that_come_and_go_restart_nothing(
    mounted: Mounted, rolling: EmbeddedRolling
) -> None:
    await mounted.begin()
    for pod in PODS:
        await rolling.cluster.delete(POD_STATUS, f"{pod}-default-vault")
    await rolling.wait(minutes=5)
    await rolling.restart()  # looks at all workloads
    await rolling.wait()
    await rolling.cluster.create(pod_status("web-3", "1"))
    calls = await rolling.wait(minutes=5)
    assert calls.writes == 0
    assert await rolling.restarts() == 0


async def test_the_first_pods_of_a_workload_restart_nothing(
    mounted: Mounted, rolling: EmbeddedRolling
) -> None:
    await mounted.begin(pods=())
    for pod in PODS:
        await rolling.cluster.create(pod_status(pod, "1"))
        await rolling.wait()
    assert '"SecretProviderClass/vault"' in await rolling.record()
    assert await rolling.restarts() == 0


async def test_a_status_that_is_not_mounted_or_unreadable_does_not_count(
    mounted: Mounted, rolling: EmbeddedRolling
) -> None:
    await mounted.begin()
    await rolling.cluster.create(pod_status("web-3", "2", mounted=False))
    await rolling.cluster.create(pod_status("web-4", "2", objects="all"))
    await rolling.cluster.create(pod_status("web-5", "2", secretProviderClassName=7))
    await rolling.wait()
    assert await rolling.restarts() == 0
    await mounted.rotate("web-1", "2")
    await rolling.wait()
    assert await rolling.restarts() == 1


async def test_what_changed_while_no_process_ran_is_noticed_once(
    mounted: Mounted, rolling: EmbeddedRolling
) -> None:
    await mounted.begin()
    await rolling.restart()
    await rolling.wait()
    assert await rolling.restarts() == 0
    await mounted.rotate("web-1", "2")
    await rolling.restart()
    await rolling.wait()
    await rolling.restart()
    await rolling.wait()
    assert await rolling.restarts() == 1


async def test_a_lost_record_while_no_pod_runs_restarts_nothing(
    mounted: Mounted, rolling: EmbeddedRolling
) -> None:
    await rolling.secret("beside", data={"a": "1"})
    await mounted.begin("ours")
    await rolling.annotate("web", {ALSO: "secret/beside"})
    await rolling.wait()
    assert '"Secret/beside"' in await rolling.record()
    await rolling.rolled_out()  # its generation is another one
    await mounted.rotate("web-1", "2")
    await rolling.wait()
    await rolling.rolled_out()
    assert await rolling.restarts() == 1
    for pod in PODS:
        await rolling.cluster.delete(POD_STATUS, f"{pod}-default-vault")
    await rolling.annotate("web", {RECORD: None})
    await rolling.rolled_out()
    await rolling.wait()
    await rolling.cluster.create(pod_status("web-3", "2"))
    await rolling.wait(minutes=5)
    assert await rolling.restarts() == 1
    assert '"SecretProviderClass/vault"' in await rolling.record()


async def test_many_statuses_are_looked_at_a_few_times_each(
    mounted: Mounted, rolling: EmbeddedRolling, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    whole = Entry.obj

    def counted(entry: Entry) -> JsonObject:
        if entry.key.name.endswith("-default-vault"):
            looked.append(entry.key.name)
        return whole(entry)

    monkeypatch.setattr(Entry, "obj", counted)
    pods = [f"web-{number}" for number in range(60)]
    await mounted.begin("ours", pods)
    assert len(looked) < 10 * len(pods)  # not each of them for each other
    await mounted.rotate("web-7", "2")
    await rolling.wait()
    assert await rolling.restarts() == 1


async def test_the_mark_of_reloader_names_the_class(
    mounted: Mounted, rolling: EmbeddedRolling
) -> None:
    await mounted.begin()
    await mounted.rotate("web-1", "2")
    await rolling.wait()
    found = await rolling.cluster.get(Deployment, "web")
    mark = found["spec"]["template"]["metadata"]["annotations"][LAST_RELOADED_FROM]
    assert '"type":"SECRETPROVIDERCLASS","name":"vault"' in mark
    [note] = await rolling.notes("Reloaded")
    assert "SecretProviderClass vault" in note


async def test_it_counts_only_where_the_driver_is_and_reloader_is_asked(
    mounted: Mounted, rolling: EmbeddedRolling
) -> None:
    assert await served_sources(rolling.cluster.client) == BUILT_IN_SOURCES
    assert SourceKind.PROVIDER_CLASS not in ReloaderDialect().sources
    await mounted.begin(sources=BUILT_IN_SOURCES)
    assert await served_sources(rolling.cluster.client) == frozenset(SourceKind)
    await mounted.rotate("web-1", "2")
    await rolling.wait()
    assert await rolling.restarts() == 0
    assert not [
        call
        for call in rolling.cluster.calls
        if call.verb in {"list", "watch"} and call.resource == POD_STATUS
    ]
