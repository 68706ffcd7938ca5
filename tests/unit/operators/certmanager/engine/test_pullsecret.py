"""What is done about the Secret with which images are pulled: every row of its table."""

from typing import Any

import pytest

from certwright.operators.certmanager.engine.pullsecret import (
    ABSENT,
    Availability,
    FoundSecret,
    PullSecretDecision,
    PullSecretState,
    content_hash,
    decide,
    is_copy,
)
from certwright.operators.certmanager.request import PullSecret

HERE = "cert-manager"
RULE = PullSecret(name="my", source_namespace="src", required=True)
OPTIONAL = PullSecret(name="my")
UNREADABLE = FoundSecret(Availability.UNREADABLE, problem="forbidden")
CONFIG = "kubernetes.io/dockerconfigjson"


def secret(namespace: str, value: str = "e30=", *, version: str = "7", **metadata: Any) -> Any:
    return {
        "metadata": {"name": "my", "namespace": namespace, "resourceVersion": version, **metadata},
        "type": CONFIG,
        "data": {".dockerconfigjson": value},
    }


def present(obj: Any) -> FoundSecret:
    return FoundSecret(Availability.PRESENT, obj)


def copied(here: FoundSecret = ABSENT, source: Any = None) -> PullSecretDecision:
    return decide(RULE, HERE, here, present(source or secret("src")))


def test_an_absent_copy_is_made_with_data_type_and_where_it_is_from() -> None:
    decision = copied()
    assert decision.state is PullSecretState.COPIED
    assert decision.name == "my"
    assert decision.copy == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "my",
            "namespace": HERE,
            "annotations": {
                "pull-secret.certwright.dev/source": "src/my",
                "pull-secret.certwright.dev/source-version": "7",
                "pull-secret.certwright.dev/content": content_hash(secret("src")),
            },
        },
        "type": CONFIG,
        "data": {".dockerconfigjson": "e30="},
    }


def test_a_copy_is_the_same_while_only_metadata_of_the_source_change() -> None:
    first = copied().copy
    again = copied(present(first), secret("src", version="8", labels={"a": "b"})).copy
    assert again == first


def test_a_copy_follows_the_content_of_its_source() -> None:
    first = copied().copy
    decision = copied(present(first), secret("src", "bmV3", version="8"))
    assert decision.copy is not None
    assert decision.copy["data"] == {".dockerconfigjson": "bmV3"}
    assert (
        decision.copy["metadata"]["annotations"]["pull-secret.certwright.dev/source-version"] == "8"
    )


@pytest.mark.parametrize("type_", ["Opaque", "kubernetes.io/dockercfg"])
def test_another_type_is_another_content(type_: str) -> None:
    assert content_hash({**secret("src"), "type": type_}) != content_hash(secret("src"))


def test_neither_blocks_the_installation() -> None:
    assert decide(RULE, HERE, ABSENT, ABSENT) == PullSecretDecision(
        PullSecretState.MISSING, "my", blocks=True
    )


def test_one_of_the_user_is_used_as_it_is() -> None:
    own = present(secret(HERE))
    expected = PullSecretDecision(PullSecretState.EXISTS, "my")
    assert decide(RULE, HERE, own, ABSENT) == expected
    assert decide(PullSecret(name="my", required=True), HERE, own, present(secret("x"))) == expected


def test_the_same_namespace_is_no_source() -> None:
    rule = PullSecret(name="my", source_namespace=HERE, required=True)
    own = present(secret(HERE))
    assert decide(rule, HERE, own, own) == PullSecretDecision(PullSecretState.EXISTS, "my")


def test_a_copy_whose_source_is_gone_stays_as_it_is() -> None:
    copy = copied().copy
    decision = decide(RULE, HERE, present(copy), ABSENT)
    assert decision == PullSecretDecision(PullSecretState.SOURCE_MISSING, "my", copy)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (UNREADABLE, "forbidden"),
        (present({**secret("src"), "data": {}}), "the Secret src/my is empty"),
    ],
    ids=["unreadable", "empty"],
)
def test_a_good_copy_is_never_overwritten(source: FoundSecret, problem: str) -> None:
    copy = copied().copy
    decision = decide(RULE, HERE, present(copy), source)
    assert decision == PullSecretDecision(PullSecretState.UNREADABLE, "my", copy, problem=problem)
    blocked = decide(RULE, HERE, ABSENT, source)
    assert blocked == PullSecretDecision(
        PullSecretState.UNREADABLE, "my", blocks=True, problem=problem
    )


def test_one_of_the_user_is_not_touched_while_the_source_is_unreadable() -> None:
    decision = decide(RULE, HERE, present(secret(HERE)), UNREADABLE)
    assert decision.copy is None
    assert not decision.blocks


def test_what_cannot_be_read_here_blocks() -> None:
    decision = decide(RULE, HERE, UNREADABLE, present(secret("src")))
    assert decision.blocks
    assert decision.copy is None


def test_one_that_is_not_required_is_used_if_it_is_there() -> None:
    there = decide(OPTIONAL, HERE, present(secret(HERE)), ABSENT)
    assert there == PullSecretDecision(PullSecretState.EXISTS, "my")
    unused = PullSecretDecision(PullSecretState.NOT_WANTED)
    assert decide(OPTIONAL, HERE, ABSENT, ABSENT) == unused
    assert decide(OPTIONAL, HERE, UNREADABLE, ABSENT) == unused


def test_a_copy_that_is_not_wanted_any_more_is_not_used() -> None:
    copy = copied().copy
    assert copy is not None
    assert is_copy(copy)
    assert decide(OPTIONAL, HERE, present(copy), ABSENT) == PullSecretDecision(
        PullSecretState.NOT_WANTED
    )


def test_contents_do_not_show_in_a_repr() -> None:
    decision = copied(present(secret(HERE, "c2VjcmV0")), secret("src", "c2VjcmV0"))
    assert "c2VjcmV0" not in repr(decision)
    assert "c2VjcmV0" not in repr(present(secret(HERE, "c2VjcmV0")))
