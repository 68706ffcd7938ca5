"""``certwright tree``: objects, what they own, and their health."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from certwright.apply import Direct, Live, ObjectRef, UnknownKind
from certwright.apply.health import Health, Verdict, missing
from certwright.apply.health.verdicts import check_failed
from certwright.cli.apply.inputs import ManifestFiles
from certwright.cli.apply.inventory import (
    listed_among,
    named_objects,
    nothing_listed,
    open_inventory,
)
from certwright.cli.apply.wait import overall_health
from certwright.cli.connection import Session, connected
from certwright.cli.errors import UsageError
from certwright.cli.options import Output, Target
from certwright.cli.terminal.notice import QUIET_SECONDS
from certwright.cli.terminal.output import document, fitted, one_line, terminal_width
from certwright.cli.terminal.progress import ProgressLine
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
_LONGEST_MESSAGE: Final = 1000
_SIGNS: Final = {Health.HEALTHY: "✓", Health.PROGRESSING: "…"}


@dataclass(slots=True)
class Node:
    """An object, its health, and what it owns."""

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


async def show_tree(
    target: Target, inventory: str, files: ManifestFiles | None, output: Output
) -> int:
    """Print a tree; return 1 if an object in it is not healthy, 2 if a document cannot be used."""
    if inventory:
        async with open_inventory(target, inventory) as opened:
            session = opened.session
            named = None if files is None else await named_objects(files, session)
            refs = listed_among(await opened.objects.refs(), named)
            if not refs:
                raise UsageError(nothing_listed(inventory, session.namespace))
            nodes = await _trees(session, refs)
    else:
        async with connected(target) as session:
            nodes = await _trees(session, await named_objects(files, session) if files else [])
    problems = files.problems if files else []
    if output is Output.TABLE:
        print(fitted("\n".join(lines(nodes)), terminal_width()))
    else:
        objects = [node.to_json() for node in nodes]
        print(document({"objects": objects, "problems": problems}, output))
    if files:
        files.print_problems()
    if problems:
        return 2
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
    why = f"  {one_line(node.verdict.message, _LONGEST_MESSAGE)}" if node.verdict.message else ""
    return f"{sign} {node.verdict.ref}{why}"


def owned_by(parent: Live, candidates: Sequence[Live]) -> list[Node]:
    """Return the objects that an object owns, as nodes with what these own."""
    mine = [one for one in candidates if parent.uid in _owners(one)]
    mine.sort(key=lambda one: (str(one.obj.get("kind")), str(one.metadata.get("name"))))
    return [Node(_verdict(one), owned_by(one, candidates)) for one in mine]


def _verdict(live: Live) -> Verdict:
    return overall_health(ObjectRef.of(live.obj), live.obj)


def _owners(live: Live) -> set[str]:
    return {str(owner.get("uid")) for owner in live.metadata.get("ownerReferences") or ()}


async def _trees(session: Session, refs: Sequence[ObjectRef]) -> list[Node]:
    cluster = Direct(session.client)
    owned: dict[tuple[Resource, str], Sequence[Live]] = {}
    nodes = []
    with ProgressLine(len(refs), quiet_seconds=QUIET_SECONDS) as progress:
        for ref in dict.fromkeys(refs):
            nodes.append(await _tree(cluster, ref, owned))
            progress.done(ref, f"{ref} read")
    return nodes


async def _tree(
    cluster: Direct, ref: ObjectRef, owned: dict[tuple[Resource, str], Sequence[Live]]
) -> Node:
    try:
        live = await cluster.read(await cluster.resource(ref.gvk), ref.key)
    except UnknownKind as error:
        return Node(missing(ref, str(error)))
    except Forbidden as error:
        return Node(check_failed(ref, str(error)))
    if live is None:
        return Node(missing(ref))
    candidates: list[Live] = []
    for kind in _OWNED.get(ref.kind, ()):
        at = (kind, ref.namespace)
        if at not in owned:
            owned[at] = await _listed(cluster, kind, ref.namespace)
        candidates += owned[at]
    return Node(_verdict(live), owned_by(live, candidates))


async def _listed(cluster: Direct, kind: Resource, namespace: str) -> Sequence[Live]:
    try:
        return await cluster.list(kind, namespace)
    except (NotFound, Forbidden):
        return []  # then the tree is shorter
