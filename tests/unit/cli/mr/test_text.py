"""ManagedResources as people read them."""

from datetime import UTC, datetime
from typing import Any

from certwright.cli.mr.text import consequences, explanation, list_table
from certwright.kube import JsonObject

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def condition(type_: str, status: str, reason: str = "R", message: str = "M") -> JsonObject:
    since = "2026-01-01T23:00:00Z"
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    }


def resource(
    name: str,
    *,
    applied: str = "True",
    healthy: str = "True",
    progressing: str = "False",
    **more: Any,
) -> JsonObject:
    metadata = {
        "namespace": "garden",
        "name": name,
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    return {
        "metadata": metadata | more.pop("metadata", {}),
        "spec": {"secretRefs": []} | more.pop("spec", {}),
        "status": {
            "observedGeneration": 1,
            "conditions": [
                condition("ResourcesApplied", applied, "ApplyFailed", "it was refused"),
                condition("ResourcesHealthy", healthy),
                condition("ResourcesProgressing", progressing),
            ],
            "resources": [{"kind": "ConfigMap", "namespace": "x", "name": "a"}],
        }
        | more.pop("status", {}),
    }


def test_those_that_need_attention_come_first_and_say_why() -> None:
    lines = list_table([resource("good"), resource("bad", applied="False")], NOW, namespaces=False)
    heads, bad, good = lines.splitlines()
    assert heads.split() == ["NAME", "CLASS", "APPLIED", "HEALTHY", "PROGRESSING", "OBJECTS", "AGE", "MESSAGE"]  # fmt: skip
    assert bad.split()[:7] == ["bad", "-", "False", "True", "False", "1", "24h"]
    assert bad.endswith("ApplyFailed: it was refused")
    assert good.split() == ["good", "-", "True", "True", "False", "1", "24h", "-"]


def test_the_summary_condition_has_the_first_word() -> None:
    ready = {"conditions": [condition("Ready", "False", "Suspended", "it is suspended")]}
    table = list_table([resource("a", status=ready)], NOW, namespaces=False)
    assert table.endswith("Suspended: it is suspended")


def test_one_that_nobody_looked_at_yet() -> None:
    table = list_table([{"metadata": {"name": "new"}}], NOW, namespaces=True)
    assert table.splitlines()[0].startswith("NAMESPACE")
    assert table.endswith("waits for a manager of class resources")


def test_one_that_is_ignored() -> None:
    metadata = {"name": "old", "annotations": {"resources.gardener.cloud/ignore": "true"}}
    table = list_table([{"metadata": metadata}], NOW, namespaces=False)
    assert "it is ignored while it has" in table


def test_one_that_was_changed_since() -> None:
    changed = resource("a")
    changed["metadata"]["generation"] = 7
    table = list_table([changed], NOW, namespaces=False)
    assert table.endswith("its latest change is not processed yet")


def test_numbers_come_from_the_summary() -> None:
    summary = {"summary": {"total": 5, "applied": 4, "healthy": 3}}
    assert "3/5" in list_table([resource("a", status=summary)], NOW, namespaces=False)
    del summary["summary"]["healthy"]  # the number is not written when it is zero
    sick = resource("a", healthy="False", status=summary)
    assert "0/5" in list_table([sick], NOW, namespaces=False)
    unknown = resource("a", healthy="Unknown", status=summary)
    assert "/" not in list_table([unknown], NOW, namespaces=False)


def test_a_good_one_is_explained_in_a_few_lines() -> None:
    text = explanation(resource("a"), ["✓ s: 1 objects"], NOW)
    assert text.splitlines() == [
        "ManagedResource garden/a",
        "  class resources, 24h old",
        "",
        "Conditions:",
        "  ✓ ResourcesApplied True for 60m (ApplyFailed)",
        "  ✓ ResourcesHealthy True for 60m (R)",
        "  ✓ ResourcesProgressing False for 60m (R)",
        "",
        "Secrets:",
        "  ✓ s: 1 objects",
        "",
        "Objects:",
        "  ConfigMap x/a",
    ]


def test_a_bad_one_is_explained_completely() -> None:
    odd = resource(
        "a",
        healthy="False",
        metadata={
            "generation": 2,
            "deletionTimestamp": "2026-01-01T23:59:00Z",
            "finalizers": ["f"],
            "annotations": {"resources.gardener.cloud/ignore": "true"},
        },
        spec={"suspend": True, "keepObjects": True, "dependsOn": [{"name": "b"}], "class": "seed"},
        status={
            "objects": [
                {"kind": "Deployment", "namespace": "x", "name": "web", "health": "Unhealthy",
                 "message": "no pods\nat all", "lastWriter": "kubectl-edit at 12:00"},
            ],
            "resources": [
                *({"kind": "Namespace", "name": str(n)} for n in range(51)),
                {"kind": "ConfigMap", "name": "a-inventory-0", "fieldPath": "data.inventory"},
            ],
        },
    )  # fmt: skip
    text = explanation(odd, [], NOW)
    for part in (
        "class seed",
        "generation 2 of its spec is not applied yet; 1 was the last",
        "its deletion was requested 60s ago, and waits for f",
        "it is suspended",
        "its objects stay",
        "it waits for b to be healthy",
        "resources.gardener.cloud/ignore=true",
        "✗ ResourcesHealthy False",
        "Deployment x/web Unhealthy: no pods at all",
        "last written by kubectl-edit at 12:00",
        "and 1 more",
        "and those listed in ConfigMap a-inventory-0",
    ):
        assert part in text


def test_one_without_conditions_leads_to_the_question_who_works() -> None:
    assert "a resource manager of its class is running" in explanation(
        {"metadata": {"name": "a"}}, [], NOW
    )


def test_a_line_is_as_long_as_there_is_room() -> None:
    long = resource("bad", applied="False", status={"conditions": [
        condition("ResourcesApplied", "False", "ApplyFailed", "x" * 250)
    ]})  # fmt: skip
    lines = {
        width: list_table([long], NOW, namespaces=False, width=width).splitlines()[1]
        for width in (40, 200, 500)
    }
    assert [len(line) for line in lines.values()][:2] == [120, 200]
    assert lines[200].endswith("x…")
    assert lines[500].endswith("x" * 250)


def test_what_is_not_decided_looks_different_from_what_is_wrong() -> None:
    conditions = [
        condition("ResourcesApplied", "Progressing"),
        condition("ResourcesHealthy", "Unknown"),
        condition("ResourcesProgressing", "True"),
        condition("Ready", "False"),
    ]
    text = explanation(resource("a", status={"conditions": conditions}), [], NOW)
    signs = [line.split()[0] for line in text.splitlines() if " for 60m (R)" in line]
    assert signs == ["…", "…", "…", "✗"], text


def test_what_a_condition_has_told_the_next_does_not_repeat() -> None:
    conditions = [
        condition("ResourcesApplied", "False", message="it was refused."),
        condition("Ready", "False", message="it was refused. Health is judged later."),
    ]
    text = explanation(resource("a", status={"conditions": conditions}), [], NOW)
    assert text.count("it was refused") == 1
    assert "      Health is judged later.\n" in text


def test_an_object_in_trouble_is_named_once() -> None:
    told = {"kind": "Pod", "namespace": "x", "name": "a", "health": "Unhealthy"}
    told["message"] = 'Pod "x/a" is unhealthy: it does not run'
    text = explanation(resource("a", status={"objects": [told]}), [], NOW)
    assert "  Pod x/a Unhealthy: it does not run\n" in text
    told |= {"action": "failed", "message": 'error during apply of object "v1/Pod/x/a": refused'}
    text = explanation(resource("a", status={"objects": [told]}), [], NOW)
    assert "  Pod x/a failed: refused\n" in text


def test_who_is_about_to_force_a_deletion_reads_what_goes() -> None:
    refs = [{"kind": "ConfigMap", "namespace": "x", "name": f"m{number}"} for number in range(22)]
    text = consequences(resource("a", status={"resources": refs}))
    assert text.startswith("ManagedResource garden/a keeps 22 objects:\n  ConfigMap x/m0\n")
    assert "\n  ConfigMap x/m19\n  and 2 more\nIt would be deleted with them." in text
    assert "lose their finalizers" in text


def test_a_forced_deletion_counts_what_is_listed_elsewhere() -> None:
    shard = {"kind": "ConfigMap", "name": "a-1", "fieldPath": "data.inventory"}
    status = {"summary": {"total": 9000}, "resources": [shard]}
    text = consequences(resource("a", status=status))
    assert "keeps 9000 objects:\n  and those listed in ConfigMap a-1\n" in text


def test_what_is_kept_loses_nothing() -> None:
    text = consequences(resource("a", spec={"keepObjects": True}))
    assert text.endswith("keeps 1 object, which stay (spec.keepObjects). It would be deleted.")


def test_what_others_changed_is_told_newest_first() -> None:
    def event(message: str, **times: Any) -> JsonObject:
        return {"reason": "Repaired", "message": message, **times}

    hours = [f"2026-01-01T{hour:02}:00:00Z" for hour in range(3)]
    events = [
        event("Restored ConfigMap a/b (data.x by kubectl-edit)", lastTimestamp=hours[2]),
        event("first", eventTime=hours[0]),
        event("second", eventTime=hours[0], series={"lastObservedTime": hours[1]}),
    ]
    told = explanation(resource("a"), [], NOW, events).partition("What others changed:\n")[2]
    assert [line.partition(" ago: ")[2] for line in told.splitlines()[:3]] == [
        "Restored ConfigMap a/b (data.x by kubectl-edit)",
        "second",
        "first",
    ]
