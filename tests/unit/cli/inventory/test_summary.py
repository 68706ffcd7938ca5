"""What the ConfigMaps of inventories tell about them."""

from datetime import UTC, datetime
from typing import Any

from certwright.apply import Live
from certwright.cli.inventory.summary import summaries, summary_table

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)


def shard(name: str, *objects: str, namespace: str = "prod", number: int = 1, **more: Any) -> Live:
    metadata = {
        "namespace": namespace,
        "name": f"certwright-inventory-{name}.{number}",
        "labels": {"certwright.dev/inventory": name},
        "creationTimestamp": f"2026-01-0{number}T00:00:00Z",
        **more,
    }
    data = {"objects": "\n".join(objects)}
    return Live.of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def written(by: str, at: str) -> dict[str, Any]:
    entry = {"manager": by, "operation": "Update", "time": at, "fieldsType": "FieldsV1"}
    return {"managedFields": [entry]}


def test_the_shards_of_an_inventory_are_counted_together() -> None:
    one, two = "v1/ConfigMap/prod/a", "v1/ConfigMap/prod/b"
    found = summaries(
        [
            shard("web", two, number=2, **written("second", "2026-01-02T11:00:00Z")),
            shard("web", one, **written("first", "2026-01-01T00:00:00Z")),
            shard("db", namespace="a"),
        ]
    )
    assert [(one.namespace, one.name, one.objects) for one in found] == [
        ("a", "db", 0),
        ("prod", "web", 2),
    ]
    lines = [line.split() for line in summary_table(found, NOW).splitlines()]
    assert lines[1] == ["a", "db", "0", "-", "-", "36h"]
    assert lines[2] == ["prod", "web", "2", "second", "60m", "ago", "36h"]
    assert found[1].to_json() == {
        "namespace": "prod",
        "name": "web",
        "created": "2026-01-01T00:00:00Z",
        "lastWriter": {"manager": "second", "time": "2026-01-02T11:00:00Z"},
        "objects": 2,
    }


def test_a_damaged_inventory_says_so_instead_of_a_number() -> None:
    (found,) = summaries([shard("web", "nonsense")])
    assert "'nonsense'" in found.problem
    assert "objects" not in found.to_json()
    assert "damaged" in summary_table([found], NOW)
