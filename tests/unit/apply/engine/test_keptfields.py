"""The table of fields that stay when an object is replaced: each row with and without its reason."""

from typing import Any

import pytest

from certwright.apply import Rules
from certwright.apply.engine.keptfields import TABLE, KeptField, located, parse_pointer, value_at
from certwright.apply.engine.preserve import preserve
from certwright.kube import JsonObject

TEMPLATE = "/spec/template"
JOBS = "/spec/jobTemplate/spec/template"
RESTARTED = "metadata/annotations/kubectl.kubernetes.io~1restartedAt"
SIZES = ("requests/cpu", "requests/memory", "limits/cpu", "limits/memory")
SCALED, SIZED = Rules(preserve_replicas=True), Rules(preserve_resources=True)
LB: JsonObject = {"type": "LoadBalancer"}
LOCAL: JsonObject = {**LB, "externalTrafficPolicy": "Local"}
DUAL: JsonObject = {"ipFamilyPolicy": "PreferDualStack"}
CLAIM: JsonObject = {"claimRef": {"namespace": "n", "name": "c"}}
TOKEN = "kubernetes.io/service-account-token"
HOOK: JsonObject = {"name": "h", "clientConfig": {"service": {"name": "s"}}}
CONVERSION: JsonObject = {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "u"}}}
ALL = Rules()

Case = tuple[JsonObject, JsonObject, Rules, bool]
"""What the manifest has, what the live object has, the rules, and whether the latter stays."""


def at(pointer: str, value: Any, **more: Any) -> JsonObject:
    """Return the fields of an object that has a value at a place; a star is the item ``c``."""
    first, *rest = parse_pointer(pointer)
    obj: Any = value
    for name in reversed(rest):
        obj = [{"name": "c", **obj}] if name == "*" else {name: obj}
    return {**more, first: {**more.get(first, {}), **obj} if isinstance(obj, dict) else obj}


def sized(pointer: str) -> list[Case]:
    wanted, live = at(pointer, "1"), at(pointer, "2")
    return [(wanted, live, SIZED, True), (wanted, live, ALL, False), ({}, live, SIZED, False)]


def left(pointer: str, *, empty: bool = True) -> list[Case]:
    """Return cases of a field that stays if the manifest does not mention it."""
    live = at(pointer, "theirs")
    return [
        ({"spec": {}} if empty else {}, live, ALL, True),
        (at(pointer, "ours"), live, ALL, False),
    ]


CASES: dict[tuple[str, str], list[Case]] = {
    ("Deployment", "/spec/replicas"): [
        ({"spec": {}}, {"spec": {"replicas": 5}}, ALL, True),
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 5}}, ALL, False),
        ({"spec": {"replicas": 0}}, {"spec": {"replicas": 5}}, ALL, False),
    ],
    ("*", "/spec/replicas"): [
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 5}}, SCALED, True),
        ({"spec": {"replicas": 2}}, {"spec": {"replicas": 5}}, ALL, False),
    ],
    ("Deployment", f"{TEMPLATE}/{RESTARTED}"): [
        ({"spec": {}}, at(f"{TEMPLATE}/{RESTARTED}", "now"), ALL, True),
        (at(f"{TEMPLATE}/{RESTARTED}", "x"), at(f"{TEMPLATE}/{RESTARTED}", "now"), ALL, True),
    ],
    ("CronJob", f"{JOBS}/{RESTARTED}"): [
        ({"spec": {}}, at(f"{JOBS}/{RESTARTED}", "now"), ALL, True)
    ],
    **{
        ("Deployment", path): sized(path)
        for path in (f"{TEMPLATE}/spec/containers/*/resources/{size}" for size in SIZES)
    },
    **{
        ("CronJob", path): sized(path)
        for path in (f"{JOBS}/spec/containers/*/resources/{size}" for size in SIZES)
    },
    ("StatefulSet", "/spec/volumeClaimTemplates"): [
        (
            {"spec": {"volumeClaimTemplates": [1]}},
            {"spec": {"volumeClaimTemplates": [2]}},
            ALL,
            True,
        )
    ],
    ("Job", "/spec/selector"): [
        ({"spec": {"selector": 1}}, {"spec": {"selector": 2}}, ALL, True),
    ],
    ("Job", "/spec/template/metadata/labels/*"): [
        (
            at("/spec/template/metadata/labels", {"a": "1"}),
            at("/spec/template/metadata/labels", {"controller-uid": "u"}),
            ALL,
            True,
        )
    ],
    ("Service", "/spec/clusterIP"): [
        ({"spec": {}}, {"spec": {"clusterIP": "10.0.0.1"}}, ALL, True),
        ({"spec": {"clusterIP": "10.0.0.2"}}, {"spec": {"clusterIP": "10.0.0.1"}}, ALL, True),
        ({"spec": {"clusterIP": "None"}}, {"spec": {"clusterIP": "10.0.0.1"}}, ALL, False),
        ({"spec": {"type": "ExternalName"}}, {"spec": {"clusterIP": "10.0.0.1"}}, ALL, False),
    ],
    ("Service", "/spec/clusterIPs"): [
        ({"spec": {}}, {"spec": {"clusterIPs": ["10.0.0.1"]}}, ALL, True),
        ({"spec": {"clusterIP": "None"}}, {"spec": {"clusterIPs": ["10.0.0.1"]}}, ALL, False),
        ({"spec": {}}, {"spec": {**DUAL, "clusterIPs": ["10.0.0.1"]}}, ALL, False),
    ],
    ("Service", "/spec/ipFamilies"): [
        ({"spec": DUAL}, {"spec": {**DUAL, "ipFamilies": ["IPv4"]}}, ALL, True),
        ({"spec": {}}, {"spec": {**DUAL, "ipFamilies": ["IPv4"]}}, ALL, False),
    ],
    ("Service", "/spec/loadBalancerIP"): [
        ({"spec": LB}, {"spec": {"loadBalancerIP": "192.0.2.1"}}, ALL, True),
        ({"spec": {}}, {"spec": {"loadBalancerIP": "192.0.2.1"}}, ALL, False),
    ],
    ("Service", "/spec/loadBalancerClass"): [
        ({"spec": LB}, {"spec": {**LB, "loadBalancerClass": "c"}}, ALL, True),
        ({"spec": {}}, {"spec": {**LB, "loadBalancerClass": "c"}}, ALL, False),
    ],
    ("Service", "/spec/healthCheckNodePort"): [
        ({"spec": LOCAL}, {"spec": {**LOCAL, "healthCheckNodePort": 30001}}, ALL, True),
        ({"spec": LB}, {"spec": {**LOCAL, "healthCheckNodePort": 30001}}, ALL, False),
    ],
    ("ServiceAccount", "/secrets"): [({"secrets": [1]}, {"secrets": [2]}, ALL, True)],
    ("ServiceAccount", "/imagePullSecrets"): [({}, {"imagePullSecrets": [2]}, ALL, True)],
    ("Secret", "/data/*"): [
        ({"type": TOKEN}, {"data": {"token": "x"}}, ALL, True),
        ({"type": "Opaque"}, {"data": {"token": "x"}}, ALL, False),
        ({"type": TOKEN, "data": {"token": "y"}}, {"data": {"token": "x"}}, ALL, False),
    ],
    ("Namespace", "/spec/finalizers"): left("/spec/finalizers", empty=False),
    **{
        ("Node", f"/spec/{name}"): left(f"/spec/{name}")
        for name in ("podCIDR", "podCIDRs", "providerID")
    },
    **{
        ("PersistentVolumeClaim", f"/spec/{name}"): left(f"/spec/{name}")
        for name in ("volumeName", "storageClassName", "volumeMode", "dataSource", "dataSourceRef")
    },
    ("PersistentVolume", "/spec/claimRef"): left("/spec/claimRef"),
    **{
        ("PersistentVolume", f"/spec/claimRef/{name}"): [
            ({"spec": CLAIM}, {"spec": {"claimRef": {**CLAIM["claimRef"], name: "x"}}}, ALL, True),
            ({"spec": CLAIM}, {"spec": {"claimRef": {"name": "other", name: "x"}}}, ALL, False),
        ]
        for name in ("uid", "resourceVersion", "apiVersion", "kind")
    },
    ("ClusterRole", "/rules"): [
        ({"aggregationRule": {"x": 1}, "rules": []}, {"rules": [1]}, ALL, True),
        ({"rules": [2]}, {"rules": [1]}, ALL, False),
    ],
    ("ValidatingWebhookConfiguration", "/webhooks/*/clientConfig/caBundle"): [
        (
            {"webhooks": [{"name": "c", "clientConfig": {"url": "u", **bundle}}]},
            {"webhooks": [{"name": "c", "clientConfig": {"caBundle": "x"}}]},
            ALL,
            stays,
        )
        for bundle, stays in [({}, True), ({"caBundle": ""}, True), ({"caBundle": "y"}, False)]
    ],
    ("CustomResourceDefinition", "/spec/conversion/webhook/clientConfig/caBundle"): [
        (
            {"spec": {"conversion": CONVERSION}},
            at("/spec/conversion/webhook/clientConfig/caBundle", "x"),
            ALL,
            True,
        ),
        ({"spec": {}}, at("/spec/conversion/webhook/clientConfig/caBundle", "x"), ALL, False),
    ],
    ("APIService", "/spec/caBundle"): [
        ({"spec": {}}, {"spec": {"caBundle": "x"}}, ALL, True),
        ({"spec": {"insecureSkipTLSVerify": True}}, {"spec": {"caBundle": "x"}}, ALL, False),
        ({"spec": {"caBundle": "y"}}, {"spec": {"caBundle": "x"}}, ALL, False),
    ],
}


def named(row: KeptField) -> list[tuple[str, str, str]]:
    pointer = "".join(f"/{part.replace('/', '~1')}" for part in row.path)
    return [(group, kind, pointer) for group, kind in sorted(row.kinds)]


ROWS = {(kind, pointer): group for row in TABLE for group, kind, pointer in named(row)}


def test_every_row_has_a_case() -> None:
    tested = {pointer: kind for kind, pointer in CASES}
    assert {pointer for _, pointer in ROWS} == tested.keys()
    assert CASES.keys() <= ROWS.keys()


@pytest.mark.parametrize(
    ("kind", "pointer", "case"),
    [(kind, pointer, case) for (kind, pointer), cases in CASES.items() for case in cases],
)
def test_rows(kind: str, pointer: str, case: Case) -> None:
    wanted, live, rules, stays = case
    group = ROWS[kind, pointer]
    head: JsonObject = {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": "Set" if kind == "*" else kind,
    }
    head["metadata"] = {"name": "x"}
    sent = preserve({**head, **wanted}, {**head, **live}, None, rules, replaces=True).obj
    for part in ("c", "controller-uid", "token"):
        path = located([part if one == "*" else one for one in parse_pointer(pointer)], live)
        if path is not None:
            have = value_at(live, path)
            assert (value_at(sent, path) == have) is stays
            return
    raise AssertionError("the live object of the case lacks the field")


@pytest.mark.parametrize(
    "text", ["", "/", "a", "a/b", "//", "/a//b", "/kind", "/metadata", "/metadata/uid"]
)
def test_what_is_no_pointer(text: str) -> None:
    with pytest.raises(ValueError, match=r"pointer|ignored"):
        parse_pointer(text)


def test_ignored_fields_stay_with_the_value_they_have() -> None:
    head = {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}}
    wanted = {**head, "spec": {"a": 1, "items": [{"name": "one", "x": 1}, {"name": "two"}]}}
    live = {
        **head,
        "spec": {"a": 2, "b/c": 3, "items": [{"name": "side"}, {"name": "one", "x": 2}], "z": 1},
    }
    pointers = ["/spec/b~1c", "/spec/items/side", "/spec/items/one/x", "/spec/absent/x"]
    rules = Rules(ignored=tuple(map(parse_pointer, pointers)))
    sent = preserve(wanted, live, None, rules, replaces=True).obj
    assert sent["spec"] == {
        "a": 1,
        "b/c": 3,
        "items": [{"name": "one", "x": 2}, {"name": "two"}, {"name": "side"}],
    }


def test_what_was_scaled_stays_if_the_manifest_does_not_say() -> None:
    head = {"apiVersion": "example.com/v1", "kind": "Farm", "metadata": {"name": "x"}}
    live, path = {**head, "spec": {"size": 5}}, [("spec", "size")]
    for spec, size in ({}, 5), ({"size": 2}, 2):
        sent = preserve({**head, "spec": spec}, live, None, ALL, replaces=True, scaled=path)
        assert sent.obj["spec"] == {"size": size}


def test_pods_keep_what_was_filled_in() -> None:
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    token = {"name": "kube-api-access-x", "projected": {}}
    live_container = {"name": "c", "image": "i:1", "volumeMounts": [{"name": "kube-api-access-x"}]}
    live: JsonObject = {
        **head,
        "spec": {"nodeName": "n", "volumes": [token], "containers": [live_container]},
        "status": {"phase": "Running"},
    }
    wanted = {**head, "spec": {"containers": [{"name": "c", "image": "i:2"}]}}
    sent = preserve(wanted, live, None, ALL, replaces=True).obj
    assert sent["spec"] == {
        **live["spec"],
        "containers": [{**live_container, "image": "i:2"}],
    }
    assert sent["status"] == live["status"]
