from collections.abc import Callable
from typing import Any


def test_cluster_ips_are_handed_out_once(admit: Callable[..., Any]) -> None:
    first, _ = admit("services", spec={"ports": [{"port": 80}]})
    second, _ = admit("services", spec={"ports": [{"port": 80}]})

    assert first["spec"]["clusterIP"] != second["spec"]["clusterIP"]
    assert first["spec"]["clusterIPs"] == [first["spec"]["clusterIP"]]
    assert first["spec"]["ipFamilies"] == ["IPv4"]
    assert first["spec"]["ipFamilyPolicy"] == "SingleStack"


def test_an_update_without_addresses_keeps_them(admit: Callable[..., Any]) -> None:
    old, _ = admit("services", spec={"ports": [{"port": 80}]})

    new, causes = admit("services", old, spec={"ports": [{"port": 81}]})

    assert not causes
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]


def test_the_cluster_ip_may_not_change(admit: Callable[..., Any]) -> None:
    old, _ = admit("services", spec={"ports": [{"port": 80}]})

    _, causes = admit("services", old, spec={**old["spec"], "clusterIP": "10.0.0.99"})

    assert [(c.field, c.message) for c in causes] == [
        ("spec.clusterIPs[0]", 'Invalid value: ["10.0.0.99"]: may not change once set')
    ]


def test_node_ports_come_and_go_with_the_type(admit: Callable[..., Any]) -> None:
    inside, _ = admit("services", spec={"ports": [{"port": 80}]})
    outside, _ = admit("services", inside, spec={**inside["spec"], "type": "NodePort"})
    again, causes = admit("services", outside, spec={**outside["spec"], "type": "ClusterIP"})

    assert outside["spec"]["ports"][0]["nodePort"] in range(30000, 32768)
    assert outside["spec"]["externalTrafficPolicy"] == "Cluster"
    assert not causes
    assert "nodePort" not in again["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in again["spec"]


def test_an_alias_has_no_address(admit: Callable[..., Any]) -> None:
    old, _ = admit("services", spec={"ports": [{"port": 80}]})

    new, causes = admit(
        "services", old, spec={**old["spec"], "type": "ExternalName", "externalName": "a.b"}
    )

    assert not causes
    assert "clusterIP" not in new["spec"]


def test_a_headless_service_without_pods_of_its_own_has_both_families(
    admit: Callable[..., Any],
) -> None:
    free, _ = admit("services", spec={"clusterIP": "None"})
    bound, _ = admit("services", spec={"clusterIP": "None", "selector": {"a": "b"}})

    assert free["spec"]["ipFamilies"] == ["IPv4", "IPv6"]
    assert bound["spec"]["ipFamilies"] == ["IPv4"]


def test_ports_lead_to_themselves_unless_told(admit: Callable[..., Any]) -> None:
    ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b", "targetPort": "web"}]

    obj, _ = admit("services", spec={"ports": ports})

    assert [(p["protocol"], p["targetPort"]) for p in obj["spec"]["ports"]] == [
        ("TCP", 80),
        ("TCP", "web"),
    ]


def test_a_local_load_balancer_has_a_port_for_health_checks(admit: Callable[..., Any]) -> None:
    balancer = {"type": "LoadBalancer", "ports": [{"port": 80}]}
    local = {**balancer, "externalTrafficPolicy": "Local"}
    old, _ = admit("services", spec=local)
    kept, _ = admit("services", old, spec=local)
    gone, _ = admit("services", old, spec={**old["spec"], "externalTrafficPolicy": "Cluster"})

    assert old["spec"]["healthCheckNodePort"] in range(30000, 32768)
    assert kept["spec"]["healthCheckNodePort"] == old["spec"]["healthCheckNodePort"]
    assert "healthCheckNodePort" not in gone["spec"]
