"""Labels and annotations."""

from collections.abc import Iterator, Mapping
from typing import Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.overlays.bundlecopy import BundleCopy, ComponentObjects, child
from certwright.operators.certmanager.request import InstallRequest, Problem, Reason

_UNLABELLED: Final = ("Namespace", "NetworkPolicy")
"""What a bundle and the chart leave without labels."""


def labels(copy: BundleCopy, request: InstallRequest) -> list[Problem]:
    """Label and annotate objects and pods; return labels that would hide pods from selectors."""
    problems: list[Problem] = []
    for obj in copy.objects:
        if request.common_labels and obj["kind"] not in _UNLABELLED:
            child(obj["metadata"], "labels").update(request.common_labels)
    for one in copy.components():
        metadata = child(one.template, "metadata")
        wanted = {**request.common_labels, **one.wanted.pod_labels}
        problems += _hiding(one, wanted)
        if wanted:
            child(metadata, "labels").update(wanted)
        if one.wanted.pod_annotations:
            child(metadata, "annotations").update(one.wanted.pod_annotations)
        _annotate(one.deployment, one.wanted.deployment_annotations, {})
        for service in copy.of_component(one.component, "Service"):
            _annotate(service, one.wanted.service_annotations, one.wanted.service_labels)
    return problems


def _annotate(obj: JsonObject, annotations: Mapping[str, str], labelled: Mapping[str, str]) -> None:
    if annotations:
        child(obj["metadata"], "annotations").update(annotations)
    if labelled:
        child(obj["metadata"], "labels").update(labelled)


def _hiding(one: ComponentObjects, wanted: Mapping[str, str]) -> Iterator[Problem]:
    for name, value in one.selector.items():
        if wanted.get(name, value) != value:
            yield Problem(
                Reason.INVALID_OVERRIDE,
                one.component,
                f"label {name} of pods must stay {value}: the Deployment finds its pods by it",
                "podLabels",
            )
