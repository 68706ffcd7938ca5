from typing import Any

import pytest

from certwright.apply import ObjectRef
from certwright.apply.health import check_health, check_progress
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.messages import PendingDeletion
from certwright.operators.managedresource.status import (
    APPLIED,
    HEALTHY,
    PROGRESSING,
    READY,
    ConditionUpdate,
)

NEVER = ConditionUpdate(APPLIED, "Unknown", "ConditionInitialized", "")
A, B = ObjectRef("v1", "ConfigMap", "x", "a"), ObjectRef("v1", "Service", "x", "b")
ROLE = ObjectRef("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r")
PENDING = 'deletion of old resource "v1/ConfigMap/x/a" is still pending'


def error(name: str, text: str = "boom") -> str:
    return f'error during apply of object "v1/ConfigMap/x/{name}": {text}'


CATALOGUE = {
    "a pass begins": (
        messages.apply_progressing(NEVER),
        ConditionUpdate(
            APPLIED,
            "Progressing",
            "ApplyProgressing",
            "The resources are currently being reconciled.",
        ),
    ),
    "all is applied": (
        messages.applied(),
        ConditionUpdate(APPLIED, "True", "ApplySucceeded", "All resources are applied."),
    ),
    "one object failed": (
        messages.apply_failed([error("a")]),
        ConditionUpdate(APPLIED, "False", "ApplyFailed", error("a")),
    ),
    "two objects failed": (
        messages.apply_failed([error("a"), error("b")]),
        ConditionUpdate(
            APPLIED,
            "False",
            "ApplyFailed",
            f"Could not apply all new resources: 2 errors occurred: [{error('a')}, {error('b')}]",
        ),
    ),
    "documents cannot be read": (
        messages.decoding_failed(["Could not decode one.", "Could not decode two."]),
        ConditionUpdate(
            APPLIED,
            "False",
            "DecodingFailed",
            "Could not decode all new resources: [Could not decode one. Could not decode two.]",
        ),
    ),
    "one thing failed": (
        messages.together([messages.decoding_failed(["Could not decode one."])]),
        messages.decoding_failed(["Could not decode one."]),
    ),
    "an object failed, and a document cannot be read": (
        messages.together(
            [
                messages.apply_failed([error("a", "it is invalid: no")]),
                messages.decoding_failed(["Could not decode one."]),
            ]
        ),
        ConditionUpdate(
            APPLIED,
            "False",
            "ApplyFailed",
            f"{error('a', 'it is invalid: no')}."
            " Could not decode all new resources: [Could not decode one.]",
            ("ERR_CONFIGURATION_PROBLEM",),
        ),
    ),
    "a Secret cannot be read": (
        messages.cannot_read_secret('secrets "x" not found'),
        ConditionUpdate(APPLIED, "False", "CannotReadSecret", 'secrets "x" not found'),
    ),
    "objects cannot be released": (
        messages.release_failed(["boom"]),
        ConditionUpdate(
            APPLIED,
            "False",
            "ReleaseOfOrphanedResourcesFailed",
            "Could not release all orphaned resources: 1 error occurred: boom",
        ),
    ),
    "an object is still there": (
        messages.deletion_pending([PendingDeletion(A)]),
        ConditionUpdate(
            APPLIED,
            "Progressing",
            "DeletionPending",
            f"Could not clean all old resources: 1 error occurred: {PENDING}",
        ),
    ),
    "two objects are still there": (
        messages.deletion_pending(
            [PendingDeletion(A, "held by finalizer x/y for 5s"), PendingDeletion(ROLE)]
        ),
        ConditionUpdate(
            APPLIED,
            "Progressing",
            "DeletionPending",
            f"Could not clean all old resources: 2 errors occurred: [{PENDING}: held by finalizer x/y for 5s,"
            ' deletion of old resource "rbac.authorization.k8s.io/v1/ClusterRole/default/r" is still pending]',
        ),
    ),
    "deleting is refused": (
        messages.deletion_pending(
            [PendingDeletion(A, "forbidden", failed=True), PendingDeletion(B)]
        ),
        ConditionUpdate(
            APPLIED,
            "False",
            "DeletionFailed",
            f"Could not clean all old resources: 2 errors occurred: [{PENDING}: forbidden,"
            ' deletion of old resource "v1/Service/x/b" is still pending]',
        ),
    ),
    "deleting so much must be confirmed": (
        messages.prune_unconfirmed("12 of 20"),
        ConditionUpdate(
            APPLIED, "Progressing", "DeletionPending", "Could not clean all old resources: 12 of 20"
        ),
    ),
}


@pytest.mark.parametrize("name", CATALOGUE)
def test_what_is_said_about_applying(name: str) -> None:
    said, expected = CATALOGUE[name]
    assert said == expected


@pytest.mark.parametrize("reason", ["ApplyFailed", "DeletionFailed", "DeletionPending"])
def test_failures_stay_readable_during_the_next_attempt(reason: str) -> None:
    before = ConditionUpdate(APPLIED, "False", reason, "why", ("ERR_X",))
    assert messages.apply_progressing(before) == ConditionUpdate(
        APPLIED, "Progressing", reason, "why", ("ERR_X",)
    )


@pytest.mark.parametrize("reason", ["ApplySucceeded", "DecodingFailed", "CannotReadSecret"])
def test_what_else_was_said_does_not(reason: str) -> None:
    after = messages.apply_progressing(ConditionUpdate(APPLIED, "False", reason, "why"))
    assert after.reason == "ApplyProgressing"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('RoleBinding "a" is invalid: roleRef: cannot change', ("ERR_CONFIGURATION_PROBLEM",)),
        ("connection refused", ()),
    ],
)
def test_mistakes_in_manifests_are_marked_for_programs(text: str, codes: tuple[Any, ...]) -> None:
    assert messages.apply_failed([error("b"), error("a", text)]).codes == codes


def test_messages_are_bounded_and_tell_how_many_there_are() -> None:
    many = messages.apply_failed([error(f"o{n}", "x" * 5000) for n in range(500)])
    assert len(many.message) < 50_000
    assert "500 errors occurred" in many.message
    assert many.message.endswith("and 480 more]")
    assert len(messages.apply_failed([error("a", "x" * 99_999)]).message) < 3_000
    decoding = messages.decoding_failed(["Could not decode."] * 500)
    assert decoding.message.endswith("And 480 more.]")
    assert len(messages.deletion_pending([PendingDeletion(A)] * 500).message) < 50_000


def test_as_many_as_can_be_listed_are_listed() -> None:
    assert "more" not in messages.apply_failed([error(f"o{n}") for n in range(20)]).message
    assert "more" not in messages.decoding_failed(["Could not decode."] * 20).message


def test_a_changed_set_of_objects_is_not_judged_yet() -> None:
    assert messages.checks_pending() == [
        ConditionUpdate(
            HEALTHY,
            "Unknown",
            "ChecksPending",
            "The health checks have not yet been executed for the current set of resources.",
        ),
        ConditionUpdate(
            PROGRESSING,
            "Unknown",
            "ChecksPending",
            "Checks have not yet been executed for the current set of resources.",
        ),
    ]


def test_judging_says_what_the_health_checks_say() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "x", "name": "p"}}
    health, progress = messages.judged([check_health(pod)], [check_progress(pod)])
    assert (health.type, health.status, health.reason) == (HEALTHY, "False", "PodUnhealthy")
    assert progress == ConditionUpdate(
        PROGRESSING, "False", "ResourcesRolledOut", "All resources have been fully rolled out."
    )
    assert messages.judged([], [])[0] == ConditionUpdate(
        HEALTHY, "True", "ResourcesHealthy", "All resources are healthy."
    )


DELETING = "The resources are currently being deleted."


def test_deletion_begins() -> None:
    assert messages.being_deleted(ConditionUpdate(APPLIED, "False", "ApplyFailed", "why")) == [
        ConditionUpdate(APPLIED, "Progressing", "DeletionPending", DELETING),
        ConditionUpdate(HEALTHY, "False", "DeletionPending", DELETING),
        ConditionUpdate(PROGRESSING, "True", "DeletionPending", DELETING),
    ]


@pytest.mark.parametrize("reason", ["DeletionPending", "DeletionFailed"])
def test_what_was_said_about_a_deletion_stays(reason: str) -> None:
    (applied, *_others) = messages.being_deleted(
        ConditionUpdate(APPLIED, "Progressing", reason, "why")
    )
    assert applied == ConditionUpdate(APPLIED, "Progressing", "DeletionPending", "why")


def test_objects_that_are_kept_stay_applied() -> None:
    said = messages.being_deleted(messages.applied(), keep_objects=True)
    assert [claim.type for claim in said] == [HEALTHY, PROGRESSING]


def test_ignored() -> None:
    words = ("ManagedResourceIgnored", "ManagedResource is marked to be ignored.")
    assert messages.ignored() == [
        ConditionUpdate(APPLIED, "True", *words),
        ConditionUpdate(HEALTHY, "True", *words),
        ConditionUpdate(PROGRESSING, "False", *words),
        ConditionUpdate(READY, "True", *words),
    ]


GOOD = [messages.applied(), *messages.judged([], [])]
PENDING_CHECKS = messages.checks_pending()
SUMMARIES = {
    "nothing was said": ([], ("Unknown", "ChecksPending", "Nothing has been applied yet.")),
    "only applied": (GOOD[:1], ("Unknown", "ChecksPending", "Health has not been judged yet.")),
    "all is well": (GOOD, ("True", "ResourcesHealthy", "All resources are applied and healthy.")),
    "applying failed": (
        [messages.apply_failed([error("a")]), *PENDING_CHECKS],
        ("False", "ApplyFailed", f"{error('a')}. Health is judged once everything is applied."),
    ),
    "applying goes on": (
        [messages.apply_progressing(NEVER), *PENDING_CHECKS],
        ("Unknown", "ApplyProgressing", "The resources are currently being reconciled."),
    ),
    "not judged yet": (
        [messages.applied(), *PENDING_CHECKS],
        (
            "Unknown",
            "ChecksPending",
            "The health checks have not yet been executed for the current set of resources.",
        ),
    ),
    "unhealthy": (
        [messages.applied(), ConditionUpdate(HEALTHY, "False", "PodUnhealthy", "why"), GOOD[2]],
        ("False", "PodUnhealthy", "why"),
    ),
    "rolling out": (
        [
            messages.applied(),
            GOOD[1],
            ConditionUpdate(PROGRESSING, "True", "DeploymentProgressing", "why"),
        ],
        ("Unknown", "DeploymentProgressing", "why"),
    ),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_summary(name: str) -> None:
    said, expected = SUMMARIES[name]
    assert messages.ready(said) == ConditionUpdate(READY, *expected)


def test_what_hinders_comes_first() -> None:
    assert messages.ready(GOOD, messages.suspended()).reason == "Suspended"
    waiting = messages.dependency_not_ready("Waiting.")
    assert messages.ready(GOOD, waiting) == ConditionUpdate(
        READY, "Unknown", "DependencyNotReady", "Waiting."
    )
    cyclic = messages.dependency_not_ready("Round.", cyclic=True)
    assert messages.ready(GOOD, cyclic) == ConditionUpdate(
        READY, "False", "DependencyCycle", "Round."
    )
