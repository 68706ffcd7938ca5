"""Variables and arguments of containers: every source, in kubelet's order."""

import pytest
from tests.support.node.rig import PodRig, state, waits_for

from certwright.kube import JsonObject

pytestmark = pytest.mark.asyncio(loop_scope="module")


def prints(*texts: str, **more: object) -> JsonObject:
    """Return a container that prints its arguments, one per line."""
    return {"command": ["printf", "%s\\n"], "args": list(texts), **more}


async def test_arguments_refer_to_variables(rig: PodRig) -> None:
    env = [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "$(A)2"},
        {"name": "C", "value": "$$(A)"},
    ]
    await rig.run(
        prints("$(A)", "$(B)", "$(C)", "$(MISSING)", "$$(A)", "a$(A)b", "$", "$(A", env=env),
        restartPolicy="Never",
    )
    await rig.prints("1", "12", "$(A)", "$(MISSING)", "$(A)", "a1b", "$", "$(A")


async def test_a_variable_sees_only_those_before_it(rig: PodRig) -> None:
    env = [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "2"}]
    await rig.run(prints("$(A)", env=env), restartPolicy="Never")
    await rig.prints("$(B)")


FIELDS = {
    "metadata.name": "p",
    "metadata.labels['app']": "web",
    "metadata.annotations['note']": "hi there",
    "spec.serviceAccountName": "default",
    "status.hostIP": "192.0.2.1",
}


@pytest.mark.parametrize("path", FIELDS)
async def test_fields_of_the_pod(rig: PodRig, path: str) -> None:
    env = [{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": path}}}]
    metadata = {"labels": {"app": "web"}, "annotations": {"note": "hi there"}}
    await rig.run(prints("$(X)", env=env), restartPolicy="Never", metadata=metadata)
    await rig.prints(FIELDS[path])


async def test_fields_that_the_cluster_decides(rig: PodRig) -> None:
    names = ("metadata.namespace", "metadata.uid", "spec.nodeName", "status.podIP")
    env = [
        {"name": f"X{number}", "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for number, path in enumerate(names)
    ]
    await rig.run(prints("$(X0)", "$(X1)", "$(X2)", "$(X3)", env=env), restartPolicy="Never")
    pod = await rig.until(lambda pod: pod["status"].get("podIP"))
    await rig.prints(rig.namespace, pod["metadata"]["uid"], rig.node.name, pod["status"]["podIP"])


@pytest.mark.parametrize(
    ("resource", "divisor", "value"),
    [
        ("limits.cpu", "1m", "1500"),
        ("limits.cpu", "1", "2"),
        ("requests.memory", "1Mi", "64"),
        ("requests.memory", "1", "67108864"),
        ("limits.memory", "1Gi", "4"),
    ],
)
async def test_resources_of_the_container(
    rig: PodRig, resource: str, divisor: str, value: str
) -> None:
    source = {"resourceFieldRef": {"resource": resource, "divisor": divisor}}
    resources = {"limits": {"cpu": "1500m"}, "requests": {"memory": "64Mi"}}
    await rig.run(
        prints("$(X)", env=[{"name": "X", "valueFrom": source}], resources=resources),
        restartPolicy="Never",
    )
    await rig.prints(value)


async def test_keys_of_configmaps_and_secrets(rig: PodRig) -> None:
    await rig.configmap("cm", colour="red")
    await rig.secret("s", word="sesame")
    env = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "colour"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "word"}}},
        {
            "name": "C",
            "valueFrom": {"configMapKeyRef": {"name": "no", "key": "x", "optional": True}},
        },
        {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "x", "optional": True}}},
    ]
    await rig.run(prints("$(A)", "$(B)", "$(C)", "$(D)", env=env), restartPolicy="Never")
    await rig.prints("red", "sesame", "$(C)", "$(D)")


async def test_whole_configmaps_and_secrets(rig: PodRig) -> None:
    await rig.configmap("cm", colour="red", size="1")
    await rig.secret("s", size="2")
    sources = [
        {"configMapRef": {"name": "cm"}},
        {"prefix": "S_", "secretRef": {"name": "s"}},
        {"configMapRef": {"name": "none", "optional": True}},
    ]
    env = [{"name": "size", "value": "own"}]
    await rig.run(
        prints("$(colour)", "$(size)", "$(S_size)", env=env, envFrom=sources), restartPolicy="Never"
    )
    await rig.prints("red", "own", "2")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"configMapKeyRef": {"name": "late", "key": "k"}}, 'configmap "late" not found'),
        ({"secretKeyRef": {"name": "late", "key": "k"}}, 'secret "late" not found'),
    ],
)
async def test_a_missing_source_holds_the_container_back(
    rig: PodRig, source: JsonObject, message: str
) -> None:
    await rig.run(prints("$(X)", env=[{"name": "X", "valueFrom": source}]), restartPolicy="Never")
    pod = await rig.until(waits_for("CreateContainerConfigError"))
    assert state(pod)["waiting"]["message"] == message
    assert pod["status"]["phase"] == "Pending"
    await rig.event("Failed", f"Error: {message}")
    await rig.configmap("late", k="v")
    await rig.secret("late", k="v")
    await rig.prints("v")


async def test_a_missing_key_is_named(rig: PodRig) -> None:
    await rig.secret("s", other="x")
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    await rig.run(prints("$(X)", env=[{"name": "X", "valueFrom": source}]))
    pod = await rig.until(waits_for("CreateContainerConfigError"))
    expected = f"couldn't find key k in Secret {rig.namespace}/s"
    assert state(pod)["waiting"]["message"] == expected


async def test_services_are_linked(rig: PodRig) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "my-db", "namespace": rig.namespace},
        "spec": {"ports": [{"name": "sql", "port": 5432}]},
    }
    made = await rig.create(service)
    ip = made["spec"]["clusterIP"]
    names = ("HOST", "PORT", "PORT_SQL")
    await rig.run(
        prints(*(f"$(MY_DB_SERVICE_{name})" for name in names), "$(MY_DB_PORT)"),
        restartPolicy="Never",
    )
    await rig.prints(ip, "5432", "5432", f"tcp://{ip}:5432")
    await rig.run(
        prints("$(MY_DB_SERVICE_HOST)"), name="plain", enableServiceLinks=False,
        restartPolicy="Never",
    )  # fmt: skip
    await rig.prints("$(MY_DB_SERVICE_HOST)", name="plain")


async def test_nothing_of_this_machine_leaks_in(
    rig: PodRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OF_THE_NODE", "secret")
    await rig.run(
        {"command": ["sh", "-c", "echo ${OF_THE_NODE-unset} $HOSTNAME"]}, restartPolicy="Never"
    )
    await rig.prints("unset p")


async def test_secrets_that_are_no_text(rig: PodRig) -> None:
    metadata = {"name": "s", "namespace": rig.namespace}
    data = {"k": "//4=", "zero": "AA=="}
    await rig.create({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    script = 'printf %s "$X" | od -An -tx1'
    await rig.run(
        {"command": ["sh", "-c", script], "env": [{"name": "X", "valueFrom": source}]},
        restartPolicy="Never",
    )
    await rig.prints(" ff fe")
    source = {"secretKeyRef": {"name": "s", "key": "zero"}}
    await rig.run(
        {"command": ["true"], "env": [{"name": "X", "valueFrom": source}]},
        name="zero",
        restartPolicy="Never",
    )
    pod = await rig.phase("Failed", "zero")
    assert state(pod)["terminated"]["reason"] == "StartError"
