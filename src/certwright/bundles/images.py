"""Which images a bundle needs, so that they can be mirrored."""

from collections.abc import Iterator
from typing import Any, Final

from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject

SOLVER_FLAG: Final = "--acme-http01-solver-image="
_WORKLOADS: Final = frozenset({"Deployment", "DaemonSet", "StatefulSet", "Job"})


def images_of(bundle: Bundle) -> list[str]:
    """Return the references of all images, sorted, with that of the solver of HTTP-01 challenges.

    No object names the solver before 1.11: the controller has it built in, and it is published
    beside the controller.
    """
    images: set[str] = set()
    for obj in bundle.objects:
        if obj["kind"] in _WORKLOADS:
            for container in _containers(obj):
                image = container.get("image") or ""
                images.add(image)
                images.update(_solvers(container, image))
    return sorted(images - {""})


def _containers(obj: JsonObject) -> Iterator[JsonObject]:
    pod: Any = obj.get("spec", {}).get("template", {}).get("spec", {})
    yield from pod.get("initContainers") or ()
    yield from pod.get("containers") or ()


def _solvers(container: JsonObject, image: str) -> Iterator[str]:
    named = [arg for arg in container.get("args") or () if str(arg).startswith(SOLVER_FLAG)]
    yield from (str(arg).removeprefix(SOLVER_FLAG) for arg in named)
    repository, _, rest = image.partition("@")[0].rpartition(":")
    if not named and repository.endswith("-controller"):
        yield f"{repository.removesuffix('-controller')}-acmesolver:{rest}"
