"""Which revision is served, by hand."""

from datetime import UTC, datetime, timedelta

from msgspec import UNSET

from certwright.api.envoyconfigs import (
    EnvoyConfigRevision,
    EnvoyConfigRevisionSpec,
    EnvoyConfigRevisionStatus,
)
from certwright.kube import ObjectMeta
from certwright.operators.discoveryservice.config.choice import choose, in_order, superfluous
from certwright.operators.discoveryservice.config.publisher import newest_published

START = datetime(2030, 1, 1, tzinfo=UTC)


def revision(
    version: str, minute: int, *, tainted: bool = False, published: int | None = None
) -> EnvoyConfigRevision:
    return EnvoyConfigRevision(
        metadata=ObjectMeta(name=f"n-v3-{version}", creation_timestamp=START + timedelta(minutes=minute)),
        spec=EnvoyConfigRevisionSpec(node_id="n", version=version, resources=[]),
        status=EnvoyConfigRevisionStatus(
            tainted=tainted or UNSET,
            published=True if published is not None else UNSET,
            last_published_at=START + timedelta(minutes=published) if published is not None else UNSET,
        ),
    )  # fmt: skip


def test_the_desired_revision_comes_first() -> None:
    revisions = [revision("new", 2), revision("old", 1)]
    choice = choose(revisions, "old")
    assert choice.published is revisions[1]
    assert choice.state == "InSync"


def test_a_tainted_one_is_replaced_by_the_newest_that_is_not() -> None:
    revisions = [
        revision("a", 1),
        revision("b", 2),
        revision("c", 3, tainted=True),
        revision("d", 4, tainted=True),
    ]
    choice = choose(revisions, "d")
    assert choice.published is revisions[1]
    assert choice.state == "Rollback"


def test_what_was_published_later_is_newer() -> None:
    revisions = [revision("a", 1, published=9), revision("b", 2), revision("c", 3, tainted=True)]
    assert [one.spec.version for one in in_order(revisions)] == ["b", "c", "a"]
    published = choose(revisions, "c").published
    assert published is not None
    assert published.spec.version == "a"


def test_if_all_are_tainted_none_is_chosen() -> None:
    choice = choose([revision("a", 1, tainted=True)], "a")
    assert choice.published is None
    assert choice.state == "RollbackFailed"
    assert choose([], "a").published is None


def test_ten_are_kept_and_never_what_is_served_or_desired_is_dropped() -> None:
    revisions = [revision(f"{number:02}", number) for number in range(13)]
    choice = choose(revisions, "12")
    assert [one.spec.version for one in superfluous(revisions, choice)] == ["00", "01", "02"]
    revisions[0] = revision("00", 0, published=0)
    assert [one.spec.version for one in superfluous(revisions, choose(revisions, "01"))] == [
        "02", "03", "04",
    ]  # fmt: skip
    assert superfluous(revisions[:10], choose(revisions[:10], "09")) == []


def test_of_two_published_revisions_the_later_one_is_served() -> None:
    both = [revision("a", 1, published=5), revision("b", 2, published=4), revision("c", 9)]
    assert newest_published(both) is both[0]
    assert newest_published([both[2]]) is None
