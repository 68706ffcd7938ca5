"""Images: overrides, registries, mirrors, digests."""

from typing import Any

import pytest
from tests.support.certmanager.samplebundle import OLD
from tests.unit.operators.certmanager.view import CAINJECTOR, CONTROLLER, WEBHOOK, rendered

from certwright.operators.certmanager.overlays.images import image_problem, located
from certwright.operators.certmanager.request import Component, Images, Reason

DIGEST = f"sha256:{'ab' * 32}"
RELEASED = "quay.io/jetstack/cert-manager-webhook:v1.21.2"
SOLVER = "--acme-http01-solver-image="


@pytest.mark.scenario("CMD-10")
def test_an_override_changes_only_the_image_of_its_component() -> None:
    before, after = rendered(), rendered(webhook={"image": "example.com/mine:v2"})
    assert after.container(WEBHOOK)["image"] == "example.com/mine:v2"
    after.container(WEBHOOK)["image"] = RELEASED
    assert after.objects == before.objects


@pytest.mark.parametrize(
    ("images", "found"),
    [
        ({}, RELEASED),
        (
            {"registry": "mirror.example.com/jetstack"},
            "mirror.example.com/jetstack/cert-manager-webhook:v1.21.2",
        ),
        ({"registry": "localhost:5000/"}, "localhost:5000/cert-manager-webhook:v1.21.2"),
        (
            {"mirrors": {"quay.io": "m.example.com/quay"}},
            "m.example.com/quay/jetstack/cert-manager-webhook:v1.21.2",
        ),
        (
            {"mirrors": {"quay.io": "a", "quay.io/jetstack": "b/c"}},
            "b/c/cert-manager-webhook:v1.21.2",
        ),
        ({"mirrors": {"quay.io/jet": "b/c"}}, RELEASED),
        (
            {"mirrors": {"quay.io/jetstack/cert-manager-webhook": "b/webhook"}},
            "b/webhook:v1.21.2",
        ),
        ({"digests": {"webhook": DIGEST}}, f"{RELEASED}@{DIGEST}"),
        ({"digests": {"controller": DIGEST}}, RELEASED),
    ],
)
def test_where_an_image_comes_from(images: dict[str, Any], found: str) -> None:
    assert located(RELEASED, Images(**images), "webhook") == found
    assert rendered(images=Images(**images)).container(WEBHOOK)["image"] == found


def test_the_image_that_solves_challenges_moves_too() -> None:
    view = rendered(images=Images(registry="m.example.com", digests={"acmesolver": DIGEST}))
    image = f"m.example.com/cert-manager-acmesolver:v1.21.2@{DIGEST}"
    assert f"{SOLVER}{image}" in view.args()


def test_the_image_that_solves_challenges_is_named_where_the_bundle_does_not() -> None:
    assert not [arg for arg in rendered(OLD).args() if arg.startswith(SOLVER)]
    view = rendered(OLD, images=Images(registry="m.example.com"))
    assert f"{SOLVER}m.example.com/cert-manager-acmesolver:v1.2.0" in view.args()


def test_a_flag_beats_the_mirror_of_the_solver() -> None:
    flags = {"acme-http01-solver-image": "example.com/solver:v3"}
    view = rendered(images=Images(registry="m.example.com"), controller={"flags": flags})
    assert [arg for arg in view.args() if arg.startswith(SOLVER)] == [
        f"{SOLVER}example.com/solver:v3"
    ]


def test_when_images_are_pulled() -> None:
    view = rendered(images=Images(pull_policy="Always"))
    assert {view.container(one)["imagePullPolicy"] for one in Component} == {"Always"}


@pytest.mark.parametrize(
    "image",
    [
        "busybox",
        "quay.io/jetstack/cert-manager-webhook:v1.21.2",
        "localhost:5000/a/b:1",
        "[fd00::1]:5000/a",
        f"a/b@{DIGEST}",
        f"a/b__c/d--e:Tag_1.x@{DIGEST}",
    ],
)
def test_references(image: str) -> None:
    assert image_problem(image) == ""


@pytest.mark.scenario("CMD-49")
@pytest.mark.parametrize(
    "image",
    [
        "Quay.io/Jet/Stack:",
        "a b",
        "a/b:",
        "a/b@sha256:12",
        "a//b",
        "http://a/b",
        "a:b:c",
        "a/B",
        "-a",
    ],
)
def test_malformed_references_are_refused(image: str) -> None:
    view = rendered(webhook={"image": image})
    (problem,) = view.rendered.problems
    assert (problem.reason, problem.component) == (Reason.INVALID_IMAGE, WEBHOOK)
    assert problem.message.startswith(f"webhook: {image!r} is no")
    assert [ref.name for ref in view.rendered.held] == ["cert-manager-webhook"]
    assert not view.find("Deployment", "cert-manager-webhook")
    assert view.deployment(CONTROLLER)
    assert view.deployment(CAINJECTOR)


@pytest.mark.parametrize(
    "images",
    [
        {"digests": {"webhook": "sha256:12"}},
        {"digests": {"other": DIGEST}},
        {"registry": "http://a"},
        {"mirrors": {"quay.io": "not a registry"}},
        {"pull_policy": "Sometimes"},
    ],
)
def test_what_is_wrong_for_all_holds_all(images: dict[str, Any]) -> None:
    view = rendered(images=Images(**images))
    assert Reason.INVALID_IMAGE in {problem.reason for problem in view.rendered.problems}
    assert len(view.rendered.held) == 3
    assert not view.find("Deployment")


def test_a_long_text_is_cut_in_the_message() -> None:
    assert len(image_problem("x" * 10000 + "!")) < 200
