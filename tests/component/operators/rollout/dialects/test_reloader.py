"""Workloads that Stakater Reloader managed: none restarts at the switch, then the same ones do."""

import json
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from tests.component.operators.rollout.engine.conftest import EmbeddedRolling
from tests.support.reloader import DOMAIN, hash_of, reloads, template_of
from tests.support.rollout import KINDS, restarts_in, workload_object

from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap, CronJob, Deployment, Job, Secret
from certwright.operators.rollout.dialects.certwright import RESTART
from certwright.operators.rollout.dialects.reloader import ReloaderDialect
from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions, ReloadStrategy
from certwright.operators.rollout.engine.settings import BUILT_IN
from certwright.operators.rollout.engine.views import ARGO_ROLLOUT
from certwright.operators.rollout.operator import served_kinds
from certwright.operators.rollout.workload import WorkloadKind
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map, secret

AUTO, SEARCH = f"{DOMAIN}/auto", f"{DOMAIN}/search"
SECRETS = {"creds": "1", "tls": "1", "extra": "1"}
CONFIG_MAPS = {"settings": "1", "flags": "1"}
STRATEGIES = list(ReloadStrategy)

ASKED: list[JsonObject] = [
    {AUTO: "true"},
    {AUTO: "true", f"secrets.exclude.{DOMAIN}/reload": "creds"},
    {f"secret.{DOMAIN}/auto": "true"},
    {f"configmap.{DOMAIN}/auto": "true"},
    {SEARCH: "true"},
    {f"secret.{DOMAIN}/reload": "tls,extra"},
    {f"configmap.{DOMAIN}/reload": "settings", f"secret.{DOMAIN}/reload": "creds"},
    {AUTO: "false"},
    {},
    {AUTO: "true", SEARCH: "true", f"configmaps.exclude.{DOMAIN}/reload": "settings,flags"},
]


def container(name: str = "main", **fields: Any) -> JsonObject:
    return {"name": name, "image": "app", **fields}


MOUNTS = [{"name": "creds", "mountPath": "/creds"}, {"name": "settings", "mountPath": "/settings"}]
PODS: dict[str, JsonObject] = {
    "volumes": {
        "containers": [container(volumeMounts=MOUNTS)],
        "volumes": [
            {"name": "creds", "secret": {"secretName": "creds"}},
            {"name": "settings", "configMap": {"name": "settings"}},
            {"name": "spare", "secret": {"secretName": "extra"}},
        ],
    },
    "variables": {
        "containers": [
            container("first", env=[{"name": "KEPT", "value": "as it is"}]),
            container(
                envFrom=[{"secretRef": {"name": "creds"}}, {"configMapRef": {"name": "flags"}}]
            ),
        ]
    },
    "keys": {
        "containers": [
            container(
                env=[
                    {"name": "P", "valueFrom": {"secretKeyRef": {"name": "tls", "key": "k"}}},
                    {"name": "S", "valueFrom": {"configMapKeyRef": {"name": "flags", "key": "k"}}},
                ]
            )
        ]
    },
    "init": {
        "containers": [container()],
        "initContainers": [container("prepare", volumeMounts=[{**MOUNTS[0], "name": "all"}])],
        "volumes": [
            {
                "name": "all",
                "projected": {
                    "sources": [{"secret": {"name": "creds"}}, {"configMap": {"name": "settings"}}]
                },
            }
        ],
    },
}
KIND_OF = {
    "volumes": "Deployment",
    "variables": "StatefulSet",
    "keys": "DaemonSet",
    "init": "Deployment",
}


def managed(strategy: ReloadStrategy) -> Iterator[JsonObject]:
    """Yield forty workloads as Reloader left them: asked in ten ways, by four kinds of pods."""
    for number, annotations in enumerate(ASKED):
        for way, pod in PODS.items():
            made = workload_object(f"{way}-{number}", pod, KIND_OF[way], annotations)
            yield marked(orjson.loads(orjson.dumps(made)), strategy)


def marked(workload: JsonObject, strategy: ReloadStrategy) -> JsonObject:
    """Return a workload with the marks of a reload for the Secret ``creds``."""
    template = template_of(workload)
    digest = hash_of({"k": "1"})
    if strategy is ReloadStrategy.ENV_VARS:
        variables = template["spec"]["containers"][0].setdefault("env", [])
        variables.append({"name": "STAKATER_CREDS_SECRET", "value": digest})
    else:
        told = {"type": "SECRET", "name": "creds", "hash": digest, "observedAt": 1}
        template["metadata"]["annotations"] = {f"{DOMAIN}/last-reloaded-from": json.dumps(told)}
    return workload


async def sources(rolling: EmbeddedRolling) -> None:
    for name, value in SECRETS.items():
        marks = {f"{DOMAIN}/match": "true"} if name != "tls" else {}
        await rolling.cluster.create(secret(name, {"k": value}, annotations=marks))
    for name, value in CONFIG_MAPS.items():
        await rolling.cluster.create(config_map(name, {"k": value}))


async def switched(
    rolling: EmbeddedRolling, kinds: tuple[WorkloadKind, ...] = BUILT_IN, **options: Any
) -> None:
    """Run the operator in the place of Reloader."""
    dialect = ReloaderDialect(ReloaderOptions(**options))
    await rolling.run(dialects=(dialect,), kinds=kinds)


@pytest.mark.parametrize("strategy", STRATEGIES)
async def test_forty_workloads_restart_with_the_same_changes(
    rolling: EmbeddedRolling, strategy: ReloadStrategy
) -> None:
    await sources(rolling)
    workloads = list(managed(strategy))
    assert len(workloads) == 40
    for workload in workloads:
        await rolling.cluster.create(workload)
    await switched(rolling, strategy=strategy)
    assert restarts_in(await rolling.wait(minutes=5)) == []
    assert restarts_in(rolling.cluster.calls) == []
    changed = 0
    for kind, name in [(Secret, one) for one in SECRETS] + [
        (ConfigMap, one) for one in CONFIG_MAPS
    ]:
        await rolling.cluster.patch(kind, name, _data(kind.kind, "2"))
        source = await rolling.cluster.get(kind, name)
        expected = sorted(
            one["metadata"]["name"]
            for one in workloads
            if reloads(one, {**source, "kind": kind.kind})
        )
        assert sorted(restarts_in(await rolling.wait())) == expected
        changed += len(expected)
    assert changed > 40
    # Metadata, and what is to be ignored.
    for patch in ({"labels": {"x": "y"}}, {"annotations": {f"{DOMAIN}/ignore": "true"}}):
        await rolling.cluster.patch(Secret, "creds", {"metadata": patch})
        assert restarts_in(await rolling.wait()) == []
    await rolling.cluster.patch(Secret, "creds", _data("Secret", "3"))
    assert restarts_in(await rolling.wait()) == []


async def test_all_workloads_but_those_that_say_no(rolling: EmbeddedRolling) -> None:
    await sources(rolling)
    workloads = list(managed(ReloadStrategy.ENV_VARS))
    for workload in workloads:
        await rolling.cluster.create(workload)
    await switched(rolling, auto_reload_all=True)
    await rolling.cluster.patch(Secret, "creds", _data("Secret", "2"))
    source = {**await rolling.cluster.get(Secret, "creds"), "kind": "Secret"}
    expected = sorted(
        one["metadata"]["name"] for one in workloads if reloads(one, source, everything=True)
    )
    assert sorted(restarts_in(await rolling.wait())) == expected


async def test_variables_change_in_place_and_others_stay(rolling: EmbeddedRolling) -> None:
    await sources(rolling)
    made = marked(
        workload_object("web", PODS["variables"], "StatefulSet", {AUTO: "true"}),
        ReloadStrategy.ENV_VARS,
    )
    await rolling.cluster.create(made)
    await switched(rolling)
    await rolling.cluster.patch(Secret, "creds", _data("Secret", "2"))
    await rolling.cluster.patch(ConfigMap, "flags", _data("ConfigMap", "2"))
    await rolling.wait()
    live = await rolling.cluster.get(KINDS["StatefulSet"], "web")
    first, main = live["spec"]["template"]["spec"]["containers"]
    found = {one["name"]: one["value"] for one in first["env"]}
    assert found["KEPT"] == "as it is"
    assert found["STAKATER_CREDS_SECRET"] not in {hash_of({"k": "1"}), hash_of({"k": "2"})}
    assert [one["name"] for one in main["env"]] == ["STAKATER_FLAGS_CONFIGMAP"]
    assert len(main["envFrom"]) == 2
    assert "annotations" not in live["spec"]["template"]["metadata"]


async def test_annotations_tell_what_the_restart_was_for(rolling: EmbeddedRolling) -> None:
    await sources(rolling)
    await rolling.cluster.create(
        workload_object("web", PODS["volumes"], annotations={AUTO: "true"})
    )
    await switched(rolling, strategy=ReloadStrategy.ANNOTATIONS)
    await rolling.cluster.patch(Secret, "creds", _data("Secret", "2"))
    await rolling.wait()
    live = await rolling.cluster.get(Deployment, "web")
    annotations = live["spec"]["template"]["metadata"]["annotations"]
    told = json.loads(annotations[f"{DOMAIN}/last-reloaded-from"])
    assert (told["type"], told["name"], told["containerRefs"]) == ("SECRET", "creds", ["main"])
    assert hash_of({"k": "2"}) not in json.dumps(live)
    (event,) = await rolling.events("Reloaded")
    assert event["reportingController"] == "reloader"


async def test_a_deployment_is_paused_with_each_restart(
    rolling: EmbeddedRolling, embedded_cluster: EmbeddedCluster
) -> None:
    await sources(rolling)
    asked = {AUTO: "true", f"deployment.{DOMAIN}/pause-period": "5m"}
    await rolling.cluster.create(workload_object("web", PODS["volumes"], annotations=asked))
    await switched(rolling)
    await rolling.cluster.patch(Secret, "creds", _data("Secret", "2"))
    await rolling.wait()
    live = await rolling.cluster.get(Deployment, "web")
    assert live["spec"]["paused"] is True
    assert f"deployment.{DOMAIN}/paused-at" in live["metadata"]["annotations"]
    await embedded_cluster.advance(minutes=6)
    live = await rolling.cluster.get(Deployment, "web")
    assert not live["spec"].get("paused")
    assert f"deployment.{DOMAIN}/paused-at" not in live["metadata"]["annotations"]


async def test_a_cron_job_runs_at_once_with_new_contents(rolling: EmbeddedRolling) -> None:
    await sources(rolling)
    await rolling.cluster.create(
        workload_object("sync", PODS["volumes"], "CronJob", {AUTO: "true"})
    )
    await switched(rolling)
    assert await rolling.cluster.names(Job) == set()
    await rolling.cluster.patch(Secret, "creds", _data("Secret", "2"))
    await rolling.wait()
    (job,) = await rolling.cluster.list(Job)
    owner = await rolling.cluster.get(CronJob, "sync")
    assert job["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
    assert job["metadata"]["annotations"]["cronjob.kubernetes.io/instantiate"] == "manual"
    volumes = owner["spec"]["jobTemplate"]["spec"]["template"]["spec"]["volumes"]
    assert len(volumes) == len(PODS["volumes"]["volumes"])


async def test_a_cron_job_runs_again_with_contents_of_before(rolling: EmbeddedRolling) -> None:
    await sources(rolling)
    await rolling.cluster.create(
        workload_object("sync", PODS["volumes"], "CronJob", {AUTO: "true"})
    )
    await switched(rolling)
    for number, value in enumerate("2323", 1):
        await rolling.cluster.patch(Secret, "creds", _data("Secret", value))
        await rolling.wait()
        assert len(await rolling.cluster.names(Job)) == number


async def test_pods_can_restart_when_sources_come_and_go(rolling: EmbeddedRolling) -> None:
    pod = replace_optional(PODS["volumes"])
    await rolling.cluster.create(workload_object("web", pod, annotations={AUTO: "true"}))
    await rolling.cluster.create(config_map("settings", {"k": "1"}))
    await switched(rolling, on_create=True, on_delete=True)
    await rolling.cluster.create(secret("creds", {"k": "1"}))
    assert restarts_in(await rolling.wait()) == ["web"]
    await rolling.cluster.delete(Secret, "creds")
    assert restarts_in(await rolling.wait()) == ["web"]


def replace_optional(pod: JsonObject) -> JsonObject:
    made: JsonObject = orjson.loads(orjson.dumps(pod))
    made["volumes"][0]["secret"]["optional"] = True
    return made


def _data(kind: str, value: str) -> JsonObject:
    return {"stringData": {"k": value}} if kind == "Secret" else {"data": {"k": value}}


# Argo Rollouts


def rollout_definition() -> JsonObject:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.argoproj.io"},
        "spec": {
            "group": "argoproj.io",
            "names": {"kind": "Rollout", "plural": "rollouts", "singular": "rollout"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def argo_rollout(name: str, **annotations: str) -> JsonObject:
    made = workload_object(name, PODS["volumes"], annotations={AUTO: "true"} | annotations)
    return {**made, "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}


async def test_argo_rollouts_restart_as_they_ask(rolling: EmbeddedRolling) -> None:
    await rolling.cluster.install(rollout_definition())
    await sources(rolling)
    strategy = {f"{DOMAIN}/rollout-strategy": "restart"}
    await rolling.cluster.create(argo_rollout("by-template"))
    await rolling.cluster.create(argo_rollout("by-pods", **strategy))
    before = await rolling.cluster.get(ARGO_ROLLOUT, "by-pods")
    kinds = await served_kinds(rolling.cluster.client)
    await switched(rolling, argo_rollouts=True, kinds=kinds)
    await rolling.cluster.patch(Secret, "creds", _data("Secret", "2"))
    await rolling.wait()
    template = await rolling.cluster.get(ARGO_ROLLOUT, "by-template")
    assert "restartAt" not in template["spec"]
    annotations = template["spec"]["template"]["metadata"]["annotations"]
    assert json.loads(annotations[f"{DOMAIN}/last-reloaded-from"])["name"] == "creds"
    pods = await rolling.cluster.get(ARGO_ROLLOUT, "by-pods")
    assert pods["spec"]["restartAt"]
    assert pods["spec"]["template"] == before["spec"]["template"]  # no new revision


async def test_argo_rollouts_with_our_annotation_get_no_new_revision(
    rolling: EmbeddedRolling,
) -> None:
    await rolling.cluster.install(rollout_definition())
    await sources(rolling)
    before = await rolling.cluster.create(argo_rollout("web", **{RESTART: "true"}))
    await rolling.run(kinds=await served_kinds(rolling.cluster.client))
    for value in "23":
        await rolling.cluster.patch(Secret, "creds", _data("Secret", value))
        await rolling.wait(minutes=1)
        after = await rolling.cluster.get(ARGO_ROLLOUT, "web")
        assert after["spec"]["restartAt"] != before["spec"].get("restartAt")
        assert after["spec"]["template"] == before["spec"]["template"]
        assert (await rolling.wait(minutes=5)).writes == 0
        before = after
