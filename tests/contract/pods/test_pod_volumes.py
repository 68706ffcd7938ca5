"""Volumes as kubelet projects them: contents, modes, updates, and what is missing."""

import pytest
from tests.support.node.rig import PodRig, state, waits_for

from certwright.kube import JsonObject

pytestmark = pytest.mark.asyncio(loop_scope="module")

WATCH = "while :; do cat /v/k 2>/dev/null || echo none; sleep 0.05; done"


def sh(script: str, *paths: str, **more: object) -> JsonObject:
    mounts = [{"name": "v", "mountPath": path} for path in paths or ("/v",)]
    return {"command": ["sh", "-c", script], "volumeMounts": mounts, **more}


def volume(**source: object) -> list[JsonObject]:
    return [{"name": "v", **source}]


async def test_a_configmap_becomes_files(rig: PodRig) -> None:
    await rig.configmap("cm", a="1", b="2")
    await rig.run(sh("cd /v; cat a b; ls"), volumes=volume(configMap={"name": "cm"}),
                  restartPolicy="Never")  # fmt: skip
    await rig.prints("12a", "b")


async def test_a_secret_becomes_files(rig: PodRig) -> None:
    await rig.secret("s", word="sesame")
    await rig.run(sh("cat /v/word"), volumes=volume(secret={"secretName": "s"}),
                  restartPolicy="Never")  # fmt: skip
    await rig.prints("sesame")


async def test_items_choose_keys_paths_and_modes(rig: PodRig) -> None:
    await rig.configmap("cm", a="1", b="2")
    items = [{"key": "b", "path": "deep/er/c", "mode": 0o400}]
    source = {"name": "cm", "items": items, "defaultMode": 0o640}
    await rig.run(sh("cd /v; ls -d * deep/er/*; stat -L -c %a deep/er/c"),
                  volumes=volume(configMap=source), restartPolicy="Never")  # fmt: skip
    await rig.prints("deep", "deep/er/c", "400")


@pytest.mark.parametrize(("mode", "shown"), [(None, "644"), (0o600, "600")])
async def test_the_default_mode(rig: PodRig, mode: int | None, shown: str) -> None:
    await rig.secret("s", k="v")
    source = {"secretName": "s", **({} if mode is None else {"defaultMode": mode})}
    await rig.run(sh("stat -L -c %a /v/k"), volumes=volume(secret=source), restartPolicy="Never")
    await rig.prints(shown)


async def test_files_are_links_through_one_folder(rig: PodRig) -> None:
    await rig.configmap("cm", k="v")
    await rig.run(sh("readlink /v/k; readlink /v/..data | cut -c1-4"),
                  volumes=volume(configMap={"name": "cm"}), restartPolicy="Never")  # fmt: skip
    await rig.prints("..data/k", "..20")


async def test_a_change_arrives(rig: PodRig) -> None:
    await rig.configmap("cm", k="old")
    await rig.run(sh(WATCH.replace("cat /v/k", "cat /v/k; echo")),
                  volumes=volume(configMap={"name": "cm"}))  # fmt: skip
    await rig.ready()
    await rig.configmap("cm", k="new")
    await rig.eventually(rig.output, lambda lines: "new" in lines)
    assert set(await rig.output()) <= {"old", "new", ""}


async def test_a_key_that_goes_takes_its_file_along(rig: PodRig) -> None:
    await rig.configmap("cm", k="v", other="x")
    await rig.run(sh("while [ -e /v/k ]; do sleep 0.05; done; ls /v"),
                  volumes=volume(configMap={"name": "cm"}), restartPolicy="Never")  # fmt: skip
    await rig.phase("Running")
    await rig.configmap("cm", other="x")
    await rig.prints("other")


async def test_a_part_of_a_volume_stays_as_it_was(rig: PodRig) -> None:
    await rig.configmap("cm", k="old")
    container = {
        "command": ["sh", "-c", "while ! grep -q new /v/k; do sleep 0.05; done; cat /part"],
        "volumeMounts": [
            {"name": "v", "mountPath": "/v"},
            {"name": "v", "mountPath": "/part", "subPath": "k"},
        ],
    }
    await rig.run(container, volumes=volume(configMap={"name": "cm"}), restartPolicy="Never")
    await rig.phase("Running")
    await rig.configmap("cm", k="new")
    await rig.prints("old")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"secret": {"secretName": "late"}}, 'secret "late" not found'),
        ({"configMap": {"name": "late"}}, 'configmap "late" not found'),
    ],
)
async def test_a_missing_object_holds_the_pod_back(
    rig: PodRig, source: JsonObject, message: str
) -> None:
    await rig.run(sh("cat /v/k"), volumes=volume(**source), restartPolicy="Never")
    pod = await rig.until(waits_for("ContainerCreating"))
    assert pod["status"]["phase"] == "Pending"
    assert "message" not in state(pod)["waiting"]
    told = await rig.event("FailedMount")
    assert told["type"] == "Warning"
    assert told["message"] == f'MountVolume.SetUp failed for volume "v" : {message}'
    await rig.configmap("late", k="here")
    await rig.secret("late", k="here")
    await rig.prints("here")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            {"configMap": {"name": "o", "items": [{"key": "no", "path": "p"}]}},
            "configmap references non-existent config key: no",
        ),
        (
            {"secret": {"secretName": "o", "items": [{"key": "no", "path": "p"}]}},
            "references non-existent secret key: no",
        ),
    ],
)
async def test_a_missing_key_holds_the_pod_back(
    rig: PodRig, source: JsonObject, message: str
) -> None:
    await rig.configmap("o", k="v")
    await rig.secret("o", k="v")
    await rig.run(sh("true"), volumes=volume(**source))
    await rig.event("FailedMount", message)


async def test_what_is_optional_may_be_missing(rig: PodRig) -> None:
    await rig.run(sh("ls /v; echo end"), restartPolicy="Never",
                  volumes=volume(secret={"secretName": "no", "optional": True}))  # fmt: skip
    await rig.prints("end")


async def test_containers_share_an_empty_folder(rig: PodRig) -> None:
    writer = sh("echo hello > /v/greeting; sleep 1000", name="writer")
    reader = sh(
        "until cat /mnt/in/greeting 2>/dev/null; do sleep 0.05; done; sleep 1000", "/mnt/in"
    )
    await rig.run(writer, reader, volumes=volume(emptyDir={}))
    await rig.prints("hello")


async def test_the_downward_api(rig: PodRig) -> None:
    items = [
        {"path": "name", "fieldRef": {"fieldPath": "metadata.name"}},
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}},
    ]
    await rig.run(
        sh("cd /v; cat name; echo; cat labels; echo; cat cpu; echo",
           resources={"limits": {"cpu": "2"}}),
        volumes=volume(downwardAPI={"items": items}),
        metadata={"labels": {"b": "2", "a": "1"}},
        restartPolicy="Never",
    )  # fmt: skip
    await rig.prints("p", 'a="1"', 'b="2"', "2")


async def test_sources_are_projected_into_one_folder(rig: PodRig) -> None:
    await rig.configmap("cm", a="1")
    await rig.secret("s", b="2")
    sources = [
        {"configMap": {"name": "cm"}},
        {"secret": {"name": "s", "items": [{"key": "b", "path": "sub/b"}]}},
        {"downwardAPI": {"items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    ]
    await rig.run(sh("cd /v; cat a; echo; cat sub/b; echo; cat n; echo"),
                  volumes=volume(projected={"sources": sources}), restartPolicy="Never")  # fmt: skip
    await rig.prints("1", "2", "p")


async def test_a_token_of_the_serviceaccount(rig: PodRig) -> None:
    metadata = {"name": "robot", "namespace": rig.namespace}
    await rig.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    source = {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}}
    await rig.run(sh("cat /v/token; echo; stat -L -c %a /v/token; sleep 1000"), serviceAccountName="robot",
                  volumes=volume(projected={"sources": [source]}))  # fmt: skip
    lines = await rig.eventually(rig.output, lambda lines: len(lines) == 2)
    token, mode = lines
    review = await rig.create({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {},
        "spec": {"token": token},
    })  # fmt: skip
    assert review["status"]["authenticated"]
    assert review["status"]["user"]["username"] == (f"system:serviceaccount:{rig.namespace}:robot")
    assert mode == "600"


async def test_a_missing_serviceaccount_holds_the_pod_back(rig: PodRig) -> None:
    source = {"serviceAccountToken": {"path": "token"}}
    await rig.run(sh("true"), serviceAccountName="no",
                  volumes=volume(projected={"sources": [source]}))  # fmt: skip
    await rig.event("FailedMount", 'serviceaccounts "no" not found')


async def test_arguments_and_variables_name_paths_inside(rig: PodRig) -> None:
    await rig.configmap("cm", k="v")
    container = sh(
        "cat $FILE; echo; cat $1", "/etc/app", env=[{"name": "FILE", "value": "/etc/app/k"}]
    )
    container["args"] = ["sh", "/etc/app/k"]
    await rig.run(container, volumes=volume(configMap={"name": "cm"}), restartPolicy="Never")
    await rig.eventually(rig.output, lambda lines: lines == ["v", "v"])


async def test_a_kind_of_volume_that_is_not_there(rig: PodRig) -> None:
    await rig.run(sh("true"), volumes=volume(nfs={"server": "x", "path": "/"}))
    await rig.event("FailedMount", "nfs is not available on this node")
