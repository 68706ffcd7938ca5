"""``certwright tree``: objects, what they own, and how they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from certwright.apply import Direct, Inventories, Live, Manifest, ObjectRef, UnknownKind
from certwright.apply.health import Health, Verdict, check_health, check_progress, missing
from certwright.cli.applying import WHICH_THERE_ARE
from certwright.cli.connection import connected
from certwright.cli.errors import UsageError
from certwright.cli.options import Output
from certwright.cli.placing import known_scope, place
from certwright.cli.printing import document, one_line
from certwright.kube import Forbidden, JsonObject, NotFound, Resource
from certwright.kube.kinds import CronJob, Job, Pod, ReplicaSet

_OWNED: Final[Mapping[str, tuple[Resource, ...]]] = {
    # kind: what is searched for objects it owns, also through each other
    "Deployment": (ReplicaSet, Pod),
    "ReplicaSet": (Pod,),
    "StatefulSet": (Pod,),
    "DaemonSet": (Pod,),
    "Job": (Pod,),
    CronJob.kind: (Job, Pod),
}
_SIGNS: Final = {Health.HEALTHY: "✓", Health.PROGRESSING: "…"}


@dataclass(frozen=True, slots=True)
class Roots:
    """What the user asked for: an inventory, or manifests."""

    inventory: str | None
    manifests: Sequence[Manifest] | None
    namespace: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None


@dataclass(slots=True)
class Node:
    """An object, how it is, and what it owns."""

    verdict: Verdict
    children: list["Node"] = field(default_factory=list)

    def to_json(self) -> JsonObject:
        """Return the node for programs."""
        ref = self.verdict.ref
        written = {
            "apiVersion": ref.api_version,
            "kind": ref.kind,
            "namespace": ref.namespace,
            "name": ref.name,
            "health": self.verdict.health.value,
            "message": self.verdict.message,
            "owns": [child.to_json() for child in self.children],
        }
        return {name: value for name, value in written.items() if value}


async def show_tree(roots: Roots, output: Output) -> int:
    """Print the tree; return 1 if something in it is not healthy."""
    async with connected(roots.kubeconfig, roots.context, roots.namespace) as to:
        cluster = Direct(to.client)
        if roots.manifests is not None:
            scope = await known_scope(to.client, roots.manifests)
            refs = [ObjectRef.of(obj) for obj in place(roots.manifests, scope, to.namespace)]
        else:
            found = await Inventories(cluster, to.namespace).load(roots.inventory or "")
            refs = found.refs
            if not refs:
                raise UsageError(
                    f"inventory {roots.inventory} in namespace {to.namespace} lists nothing;"
                    f" {WHICH_THERE_ARE}"
                )
        owned: dict[tuple[Resource, str], Sequence[Live]] = {}
        nodes = [await _grow(cluster, ref, owned) for ref in refs]
    if output is Output.TABLE:
        print("\n".join(lines(nodes)))
    else:
        print(document({"objects": [node.to_json() for node in nodes]}, output))
    return 0 if all(node.verdict for node in nodes) else 1


def lines(nodes: Sequence[Node]) -> Iterator[str]:
    """Yield the lines of a tree."""
    for node in nodes:
        yield _line(node)
        yield from _below(node, "")


def _below(node: Node, indent: str) -> Iterator[str]:
    for position, child in enumerate(node.children, 1):
        last = position == len(node.children)
        yield f"{indent}{'└─ ' if last else '├─ '}{_line(child)}"
        yield from _below(child, indent + ("   " if last else "│  "))


def _line(node: Node) -> str:
    sign = _SIGNS.get(node.verdict.health, "✗")
    why = f"  {one_line(node.verdict.message)}" if node.verdict.message else ""
    return f"{sign} {node.verdict.ref}{why}"


def judge(obj: JsonObject) -> Verdict:
    """Return how an object is: the worse of its health and its progress."""
    health = check_health(obj)
    return health if not health else check_progress(obj)


def adopt(parent: Live, candidates: Sequence[Live]) -> list[Node]:
    """Return what an object owns, directly or through others, as nodes."""
    mine = [one for one in candidates if parent.uid in _owners(one)]
    mine.sort(key=lambda one: (str(one.obj.get("kind")), str(one.metadata.get("name"))))
    return [Node(judge(one.obj), adopt(one, candidates)) for one in mine]


def _owners(live: Live) -> set[str]:
    return {str(owner.get("uid")) for owner in live.metadata.get("ownerReferences") or ()}


async def _grow(
    cluster: Direct, ref: ObjectRef, owned: dict[tuple[Resource, str], Sequence[Live]]
) -> Node:
    try:
        live = await cluster.read(await cluster.resource(ref.gvk), ref.key)
    except UnknownKind as error:
        return Node(missing(ref, str(error)))
    if live is None:
        return Node(missing(ref))
    candidates: list[Live] = []
    for kind in _OWNED.get(ref.kind, ()):
        at = (kind, ref.namespace)
        if at not in owned:
            owned[at] = await _listed(cluster, kind, ref.namespace)
        candidates += owned[at]
    return Node(judge(live.obj), adopt(live, candidates))


async def _listed(cluster: Direct, kind: Resource, namespace: str) -> Sequence[Live]:
    try:
        return await cluster.list(kind, namespace)
    except (NotFound, Forbidden):
        return []  # then the tree is shorter
