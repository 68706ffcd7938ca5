from tests.support.bundles.small import deployment, small_bundle

from certwright.bundles.bundle import make_bundle
from certwright.bundles.images import images_of

QUAY = "quay.io/jetstack/cert-manager"


def test_the_solver_is_published_beside_the_controller() -> None:
    assert images_of(small_bundle("v1.2.3")) == [
        f"{QUAY}-acmesolver:v1.2.3",
        f"{QUAY}-cainjector:v1.2.3",
        f"{QUAY}-controller:v1.2.3",
        f"{QUAY}-webhook:v1.2.3",
    ]


def test_the_solver_that_the_controller_is_told() -> None:
    flag = "--acme-http01-solver-image=mirror:5000/solver:v9"
    image = "mirror:5000/cert-manager-controller:v9@sha256:abc"
    bundle = make_bundle("v9.9.9", [deployment("cert-manager", image, "--v=2", flag)])
    assert images_of(bundle) == [image, "mirror:5000/solver:v9"]


def test_images_of_containers_that_run_first() -> None:
    obj = deployment("a", "main:1")
    obj["spec"]["template"]["spec"]["initContainers"] = [{"name": "first", "image": "first:1"}]
    assert images_of(make_bundle("v9.9.9", [obj])) == ["first:1", "main:1"]
