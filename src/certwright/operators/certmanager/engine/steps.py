"""Which steps lead from what runs to what is wanted, and in which order; pure.

Steps are derived anew in each pass from what is wanted and what is observed. A process that starts
in the middle of an upgrade finds the objects of finished steps as they should be, and goes on.
"""

import operator
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from certwright.apply import Adopt, Declared, ObjectRef
from certwright.bundles.versions import Minor, Release
from certwright.kube import JsonObject
from certwright.operators.certmanager.engine.observed import (
    VERSION_ANNOTATION,
    ComponentState,
    first_container,
    version_names,
)
from certwright.operators.certmanager.render import (
    InstallStep,
    RenderedObjects,
    StructuralFlag,
)
from certwright.operators.certmanager.request import Component, Problem

UPWARDS: Final = tuple(InstallStep)
"""Each needs those before it: an installation and an upgrade go this way."""
DOWNWARDS: Final = (
    InstallStep.NAMESPACE,
    InstallStep.CONTROLLER,
    InstallStep.WEBHOOK,
    InstallStep.REGISTRATIONS,
    InstallStep.CAINJECTOR,
    InstallStep.ROLES,
    InstallStep.DEFINITIONS,
    InstallStep.MONITORS,
)
"""The way back to an older version."""
PREREQUISITES: Final = (InstallStep.NAMESPACE, InstallStep.DEFINITIONS, InstallStep.ROLES)
"""What all components need."""
HELM_LABELS: Final = ("app.kubernetes.io/managed-by", "helm.sh/chart")
"""What charts add to all that they install, pods included."""
_POD: Final = ("spec", "template")
WITHOUT_REGISTRATIONS: Final = tuple(s for s in UPWARDS if s is not InstallStep.REGISTRATIONS)

COMPONENT_OF: Final = {
    InstallStep.CAINJECTOR: Component.CAINJECTOR,
    InstallStep.WEBHOOK: Component.WEBHOOK,
    InstallStep.CONTROLLER: Component.CONTROLLER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The objects of an installation, and what of the request could not be followed."""

    version: str
    steps: Mapping[InstallStep, tuple[Declared, ...]]
    problems: tuple[Problem, ...] = ()
    deployments: Mapping[Component, ObjectRef] = field(default_factory=dict)
    """The Deployment of each component that is wanted, also if a problem keeps it as it is."""
    helpers: tuple[ObjectRef, ...] = ()
    """Deployments besides these."""
    structural: tuple[StructuralFlag, ...] = ()
    """Flags of the request that other objects follow."""

    def of(self, *steps: InstallStep) -> tuple[Declared, ...]:
        """Return the objects of some steps."""
        return tuple(one for step in steps for one in self.steps.get(step, ()))

    @property
    def objects(self) -> tuple[Declared, ...]:
        """All objects."""
        return self.of(*UPWARDS)

    @property
    def definitions(self) -> tuple[JsonObject, ...]:
        """The CustomResourceDefinitions."""
        return tuple(one.obj for one in self.of(InstallStep.DEFINITIONS))

    @property
    def registrations(self) -> tuple[ObjectRef, ...]:
        """The webhook configurations."""
        return tuple(one.ref for one in self.of(InstallStep.REGISTRATIONS))

    @property
    def versions(self) -> Mapping[str, frozenset[str]]:
        """The versions of each kind that its definition lists, by the definition's name."""
        return {str(one["metadata"]["name"]): version_names(one) for one in self.definitions}

    def sparing_pods(self, deployments: Mapping[Component, JsonObject]) -> "Wanted":
        """Return the same without what would replace pods though it means the same.

        Arguments are left as they are where only their order differs, and labels that Helm gave
        to pods stay as long as their image does.
        """
        found = {self.deployments[component]: one for component, one in deployments.items()}
        steps = {
            step: tuple(_sparing_pods(one, found.get(one.ref)) for one in objects)
            for step, objects in self.steps.items()
        }
        return replace(self, steps=steps)

    def with_step(self, step: InstallStep, objects: Iterable[Declared]) -> "Wanted":
        """Return the same with other objects for a step."""
        return replace(self, steps={**self.steps, step: tuple(objects)})

    def with_rights_of(self, other: "Wanted") -> "Wanted":
        """Return the same with roles that also allow what the pods of another version need."""
        theirs = {one.ref: one for one in other.of(InstallStep.ROLES)}
        roles = self.of(InstallStep.ROLES)
        widened = [_with_rules(one, theirs.pop(one.ref, None)) for one in roles]
        if not theirs and all(map(operator.is_, roles, widened)):
            return self
        return self.with_step(InstallStep.ROLES, (*widened, *theirs.values()))

    def without(self, refs: Container[ObjectRef]) -> "Wanted":
        """Return the same without some objects, which others provide."""
        steps = {
            step: tuple(one for one in objects if one.ref not in refs)
            for step, objects in self.steps.items()
        }
        return replace(self, steps=steps)

    def taking_over(self, refs: Iterable[ObjectRef]) -> "Wanted":
        """Return the same with some objects taken over from what installed them."""
        chosen = set(refs)
        if not chosen:
            return self
        steps = {
            step: tuple(
                replace(one, rules=replace(one.rules, fall_back=False, adopt=Adopt.ALWAYS))
                if one.ref in chosen
                else one
                for one in objects
            )
            for step, objects in self.steps.items()
        }
        return replace(self, steps=steps)

    def with_objects(self, step: InstallStep, *objects: Declared) -> "Wanted":
        """Return the same with further objects."""
        return self.with_step(step, (*self.of(step), *objects))

    def without_namespaces(self) -> "Wanted":
        """Return the same for a namespace that others provide."""
        return self.with_step(InstallStep.NAMESPACE, ())


def wanted_of(rendered: RenderedObjects) -> Wanted:
    """Return what is wanted, each Deployment marked with the version it is written for."""
    steps = {
        step: tuple(_marked(one, rendered.version) for one in objects)
        for step, objects in rendered.steps.items()
    }
    refs = [one.ref for objects in steps.values() for one in objects]
    named = [ref for ref in (*refs, *rendered.held) if ref.kind == "Deployment"]
    return Wanted(
        version=rendered.version,
        steps=steps,
        problems=rendered.problems,
        deployments={component_of(ref.name): ref for ref in named if not is_helper(ref.name)},
        helpers=tuple(ref for ref in named if is_helper(ref.name)),
        structural=rendered.structural,
    )


def is_helper(name: str) -> bool:
    """Return whether a Deployment of this name runs none of the three components."""
    return not name.startswith("cert-manager")


def component_of(name: str) -> Component:
    """Return the component that a Deployment of this name runs."""
    others = (Component.CAINJECTOR, Component.WEBHOOK)
    return next((one for one in others if name.endswith(f"-{one}")), Component.CONTROLLER)


def _marked(one: Declared, version: str) -> Declared:
    if one.ref.kind != "Deployment":
        return one
    metadata: JsonObject = one.obj["metadata"]
    annotations = {**(metadata.get("annotations") or {}), VERSION_ANNOTATION: version}
    return Declared({**one.obj, "metadata": {**metadata, "annotations": annotations}}, one.rules)


def _sparing_pods(one: Declared, live: JsonObject | None) -> Declared:
    if live is None:
        return one
    paths = (*_other_orders(one.obj, live), *_labels_of_helm(one.obj, live))
    if not paths:
        return one
    return Declared(one.obj, replace(one.rules, ignored=(*one.rules.ignored, *paths)))


def _other_orders(wanted: JsonObject, live: JsonObject) -> Iterator[tuple[str, ...]]:
    """Yield the paths of arguments that differ only in their order."""
    found = _arguments(live)
    for name, args in _arguments(wanted).items():
        if args != found.get(name) and sorted(args) == sorted(found.get(name) or ()):
            yield (*_POD, "spec", "containers", name, "args")


def _labels_of_helm(wanted: JsonObject, live: JsonObject) -> Iterator[tuple[str, ...]]:
    """Yield the paths of labels that Helm gave to pods which have the wanted image already."""
    if first_container(wanted).get("image") != first_container(live).get("image"):
        return  # the pods are replaced anyway
    labels = [one["spec"]["template"]["metadata"].get("labels") or {} for one in (wanted, live)]
    for name in HELM_LABELS:
        if name in labels[1] and labels[0].get(name) != labels[1][name]:
            yield (*_POD, "metadata", "labels", name)


def _with_rules(one: Declared, other: Declared | None) -> Declared:
    own = one.obj.get("rules") or []
    rules = other.obj.get("rules") or () if other is not None else ()
    more = [rule for rule in rules if rule not in own]
    return Declared({**one.obj, "rules": [*own, *more]}, one.rules) if own and more else one


def _arguments(deployment: JsonObject) -> dict[str, list[str]]:
    containers = deployment["spec"]["template"]["spec"].get("containers") or ()
    return {str(one.get("name")): list(map(str, one.get("args") or ())) for one in containers}


@dataclass(frozen=True, slots=True)
class StepOrder:
    """In which order the steps are taken, and whether each waits for the one before."""

    steps: tuple[InstallStep, ...] = UPWARDS
    others: tuple[str, ...] = ()
    """The other versions whose pods may run, from the nearest to the furthest."""

    @property
    def staged(self) -> bool:
        """Whether a cert-manager of another version runs, which has to go on working meanwhile."""
        return bool(self.others)

    @property
    def older(self) -> str:
        """The version it comes from, which may be a newer one; empty if there is none."""
        return self.others[-1] if self.others else ""

    def parts(self, *, cautious: bool = False) -> Iterator[tuple[InstallStep, ...]]:
        """Yield the steps that are taken together, after what was yielded before is over.

        An installation is brought to the cluster at once, but for the registrations: until the
        webhook answers, they would block writes. Definitions are apart only because they are large:
        they are not looked at again when another object changes. A *cautious* installation begins
        with what all others need.
        """
        if self.staged:
            yield from ((step,) for step in self.steps)
            return
        if cautious:
            yield PREREQUISITES
            yield tuple(step for step in WITHOUT_REGISTRATIONS if step not in PREREQUISITES)
        else:
            yield (InstallStep.DEFINITIONS,)
            yield tuple(s for s in WITHOUT_REGISTRATIONS if s is not InstallStep.DEFINITIONS)
        yield (InstallStep.REGISTRATIONS,)


def course(
    version: str,
    components: Iterable[ComponentState],
    installed: str = "",
    left: Iterable[str] = (),
) -> StepOrder:
    """Return how to get to a version from what runs, and from what was *installed* last.

    While a version is on its way, components differ: the one furthest from the target counts.
    Deployments tell what their pods will be. Pods of versions that are being *left* may run until
    the way has come to its end.
    """
    found = {one.version for one in components if one.found}
    others = sorted(
        ({*found, installed, *left} if found else found) - {"", version},
        key=lambda text: (abs(_place(text) - _place(version)), text),
    )
    if not others:
        return StepOrder()
    steps = UPWARDS if _place(others[-1]) <= _place(version) else DOWNWARDS
    return StepOrder(steps, tuple(others))


def _place(version: str) -> int:
    release = parsed(version)
    return release.major * 10**8 + release.number * 10**4 + release.patch


def parsed(version: str) -> Release:
    """Return a version as numbers; 0.0.0 if it is none, such as the tag of a private image."""
    try:
        return Release.parse(version)
    except ValueError:
        return Release(0, 0, 0)


def path(older: str, newer: str, known: Sequence[str]) -> list[str]:
    """Return the versions to install one after the other, a minor at a time: the newest of each."""
    first, last = parsed(older).minor, parsed(newer).minor
    newest: dict[Minor, str] = {}
    for version in sorted(known, key=parsed):
        newest[parsed(version).minor] = version
    between = [newest[minor] for minor in sorted(newest) if first < minor < last]
    return [*between, newer]
