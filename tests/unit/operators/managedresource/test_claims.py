import pytest

from certwright.apply import ObjectRef
from certwright.apply.health import check_health, check_progress
from certwright.operators.managedresource import claims
from certwright.operators.managedresource.claims import Lingering
from certwright.operators.managedresource.conditions import (
    APPLIED,
    HEALTHY,
    PROGRESSING,
    READY,
    Claim,
)

NEVER = Claim(APPLIED, "Unknown", "ConditionInitialized", "")
A, B = ObjectRef("v1", "ConfigMap", "x", "a"), ObjectRef("v1", "Service", "x", "b")
ROLE = ObjectRef("rbac.authorization.k8s.io/v1", "ClusterRole", "", "r")
PENDING = 'deletion of old resource "v1/ConfigMap/x/a" is still pending'


def error(name: str, text: str = "boom") -> str:
    return f'error during apply of object "v1/ConfigMap/x/{name}": {text}'


CATALOGUE = {
    "a pass begins": (
        claims.apply_progressing(NEVER),
        Claim(
            APPLIED,
            "Progressing",
            "ApplyProgressing",
            "The resources are currently being reconciled.",
        ),
    ),
    "all is applied": (
        claims.applied(),
        Claim(APPLIED, "True", "ApplySucceeded", "All resources are applied."),
    ),
    "one object failed": (
        claims.apply_failed([error("a")]),
        Claim(APPLIED, "False", "ApplyFailed", error("a")),
    ),
    "two objects failed": (
        claims.apply_failed([error("a"), error("b")]),
        Claim(
            APPLIED,
            "False",
            "ApplyFailed",
            f"Could not apply all new resources: 2 errors occurred: [{error('a')}, {error('b')}]",
        ),
    ),
    "documents cannot be read": (
        claims.decoding_failed(["Could not decode one.", "Could not decode two."]),
        Claim(
            APPLIED,
            "False",
            "DecodingFailed",
            "Could not decode all new resources: [Could not decode one. Could not decode two.]",
        ),
    ),
    "one thing failed": (
        claims.together([claims.decoding_failed(["Could not decode one."])]),
        claims.decoding_failed(["Could not decode one."]),
    ),
    "an object failed, and a document cannot be read": (
        claims.together(
            [
                claims.apply_failed([error("a", "it is invalid: no")]),
                claims.decoding_failed(["Could not decode one."]),
            ]
        ),
        Claim(
            APPLIED,
            "False",
            "ApplyFailed",
            f"{error('a', 'it is invalid: no')}."
            " Could not decode all new resources: [Could not decode one.]",
            ("ERR_CONFIGURATION_PROBLEM",),
        ),
    ),
    "a Secret cannot be read": (
        claims.cannot_read_secret('secrets "x" not found'),
        Claim(APPLIED, "False", "CannotReadSecret", 'secrets "x" not found'),
    ),
    "objects cannot be released": (
        claims.release_failed(["boom"]),
        Claim(
            APPLIED,
            "False",
            "ReleaseOfOrphanedResourcesFailed",
            "Could not release all orphaned resources: 1 error occurred: boom",
        ),
    ),
    "an object is still there": (
        claims.deletion_pending([Lingering(A)]),
        Claim(
            APPLIED,
            "Progressing",
            "DeletionPending",
            f"Could not clean all old resources: 1 error occurred: {PENDING}",
        ),
    ),
    "two objects are still there": (
        claims.deletion_pending([Lingering(A, "held by finalizer x/y for 5s"), Lingering(ROLE)]),
        Claim(
            APPLIED,
            "Progressing",
            "DeletionPending",
            f"Could not clean all old resources: 2 errors occurred: [{PENDING}: held by finalizer x/y for 5s,"
            ' deletion of old resource "rbac.authorization.k8s.io/v1/ClusterRole/default/r" is still pending]',
        ),
    ),
    "deleting is refused": (
        claims.deletion_pending([Lingering(A, "forbidden", failed=True), Lingering(B)]),
        Claim(
            APPLIED,
            "False",
            "DeletionFailed",
            f"Could not clean all old resources: 2 errors occurred: [{PENDING}: forbidden,"
            ' deletion of old resource "v1/Service/x/b" is still pending]',
        ),
    ),
    "deleting so much must be confirmed": (
        claims.prune_unconfirmed("12 of 20"),
        Claim(
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
    before = Claim(APPLIED, "False", reason, "why", ("ERR_X",))
    assert claims.apply_progressing(before) == Claim(
        APPLIED, "Progressing", reason, "why", ("ERR_X",)
    )


@pytest.mark.parametrize("reason", ["ApplySucceeded", "DecodingFailed", "CannotReadSecret"])
def test_what_else_was_said_does_not(reason: str) -> None:
    after = claims.apply_progressing(Claim(APPLIED, "False", reason, "why"))
    assert after.reason == "ApplyProgressing"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('RoleBinding "a" is invalid: roleRef: cannot change', ("ERR_CONFIGURATION_PROBLEM",)),
        ("connection refused", ()),
    ],
)
def test_mistakes_in_manifests_are_marked_for_programs(text: str, codes: tuple) -> None:
    assert claims.apply_failed([error("b"), error("a", text)]).codes == codes


def test_messages_are_bounded_and_tell_how_many_there_are() -> None:
    many = claims.apply_failed([error(f"o{n}", "x" * 5000) for n in range(500)])
    assert len(many.message) < 50_000
    assert "500 errors occurred" in many.message
    assert many.message.endswith("and 480 more]")
    assert len(claims.apply_failed([error("a", "x" * 99_999)]).message) < 3_000
    decoding = claims.decoding_failed(["Could not decode."] * 500)
    assert decoding.message.endswith("And 480 more.]")
    assert len(claims.deletion_pending([Lingering(A)] * 500).message) < 50_000


def test_as_many_as_can_be_listed_are_listed() -> None:
    assert "more" not in claims.apply_failed([error(f"o{n}") for n in range(20)]).message
    assert "more" not in claims.decoding_failed(["Could not decode."] * 20).message


def test_a_changed_set_of_objects_is_not_judged_yet() -> None:
    assert claims.checks_pending() == [
        Claim(
            HEALTHY,
            "Unknown",
            "ChecksPending",
            "The health checks have not yet been executed for the current set of resources.",
        ),
        Claim(
            PROGRESSING,
            "Unknown",
            "ChecksPending",
            "Checks have not yet been executed for the current set of resources.",
        ),
    ]


def test_judging_says_what_the_health_checks_say() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "x", "name": "p"}}
    health, progress = claims.judged([check_health(pod)], [check_progress(pod)])
    assert (health.type, health.status, health.reason) == (HEALTHY, "False", "PodUnhealthy")
    assert progress == Claim(
        PROGRESSING, "False", "ResourcesRolledOut", "All resources have been fully rolled out."
    )
    assert claims.judged([], [])[0] == Claim(
        HEALTHY, "True", "ResourcesHealthy", "All resources are healthy."
    )


DELETING = "The resources are currently being deleted."


def test_deletion_begins() -> None:
    assert claims.being_deleted(Claim(APPLIED, "False", "ApplyFailed", "why")) == [
        Claim(APPLIED, "Progressing", "DeletionPending", DELETING),
        Claim(HEALTHY, "False", "DeletionPending", DELETING),
        Claim(PROGRESSING, "True", "DeletionPending", DELETING),
    ]


@pytest.mark.parametrize("reason", ["DeletionPending", "DeletionFailed"])
def test_what_was_said_about_a_deletion_stays(reason: str) -> None:
    (applied, *_others) = claims.being_deleted(Claim(APPLIED, "Progressing", reason, "why"))
    assert applied == Claim(APPLIED, "Progressing", "DeletionPending", "why")


def test_objects_that_are_kept_stay_applied() -> None:
    said = claims.being_deleted(claims.applied(), keep_objects=True)
    assert [claim.type for claim in said] == [HEALTHY, PROGRESSING]


def test_ignored() -> None:
    words = ("ManagedResourceIgnored", "ManagedResource is marked to be ignored.")
    assert claims.ignored() == [
        Claim(APPLIED, "True", *words),
        Claim(HEALTHY, "True", *words),
        Claim(PROGRESSING, "False", *words),
        Claim(READY, "True", *words),
    ]


GOOD = [claims.applied(), *claims.judged([], [])]
PENDING_CHECKS = claims.checks_pending()
SUMMARIES = {
    "nothing was said": ([], ("Unknown", "ChecksPending", "Nothing has been applied yet.")),
    "only applied": (GOOD[:1], ("Unknown", "ChecksPending", "Health has not been judged yet.")),
    "all is well": (GOOD, ("True", "ResourcesHealthy", "All resources are applied and healthy.")),
    "applying failed": (
        [claims.apply_failed([error("a")]), *PENDING_CHECKS],
        ("False", "ApplyFailed", f"{error('a')}. Health is judged once everything is applied."),
    ),
    "applying goes on": (
        [claims.apply_progressing(NEVER), *PENDING_CHECKS],
        ("Unknown", "ApplyProgressing", "The resources are currently being reconciled."),
    ),
    "not judged yet": (
        [claims.applied(), *PENDING_CHECKS],
        (
            "Unknown",
            "ChecksPending",
            "The health checks have not yet been executed for the current set of resources.",
        ),
    ),
    "unhealthy": (
        [claims.applied(), Claim(HEALTHY, "False", "PodUnhealthy", "why"), GOOD[2]],
        ("False", "PodUnhealthy", "why"),
    ),
    "rolling out": (
        [claims.applied(), GOOD[1], Claim(PROGRESSING, "True", "DeploymentProgressing", "why")],
        ("Unknown", "DeploymentProgressing", "why"),
    ),
}


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_summary(name: str) -> None:
    said, expected = SUMMARIES[name]
    assert claims.ready(said) == Claim(READY, *expected)


def test_what_hinders_comes_first() -> None:
    assert claims.ready(GOOD, claims.suspended()).reason == "Suspended"
    waiting = claims.dependency_not_ready("Waiting.")
    assert claims.ready(GOOD, waiting) == Claim(READY, "Unknown", "DependencyNotReady", "Waiting.")
    cyclic = claims.dependency_not_ready("Round.", cyclic=True)
    assert claims.ready(GOOD, cyclic) == Claim(READY, "False", "DependencyCycle", "Round.")
