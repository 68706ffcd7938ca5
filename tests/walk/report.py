"""A record as text for the terminal and as a picture for the documentation."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from tests.walk.imports import reachable
from tests.walk.tracer import Record

LOWEST = frozenset({"kube", "clock", "listener", "api"})


def room(file: str) -> str:
    """Return the folder of a file, or the module if it lies in none."""
    folder, _, name = file.rpartition("/")
    return folder or name.removesuffix(".py")


def package(file: str) -> str:
    """Return the package of a file; each operator counts as one."""
    parts = room(file).split("/")
    return "/".join(parts[: 2 if parts[0] == "operators" else 1])


def rooms(record: Record) -> dict[str, list[str]]:
    """Return the files by room, both in the order in which they were first entered."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in record.files:
        found[room(file)].append(file.rpartition("/")[2].removesuffix(".py"))
    return found


def hops_back(record: Record) -> dict[tuple[str, str], str]:
    """Return the calls against the direction of imports: from a room into one that uses it."""
    found: dict[tuple[str, str], str] = {}
    for (caller, callee), function in record.calls.items():
        if room(caller) != room(callee) and callee not in reachable(caller):
            found.setdefault((room(caller), room(callee)), f"{caller} calls {function}")
    return found


def text(title: str, record: Record) -> Iterator[str]:
    """Describe a journey, line by line."""
    counts: dict[str, int] = defaultdict(int)
    for file in record.files:
        counts[package(file)] += 1
    yield f"{title}: {len(record.files)} files"
    yield "  " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    for name, files in rooms(record).items():
        yield f"  {name:<28} {len(files):>2}  {' '.join(files)}"
    back = hops_back(record)
    yield f"  hops back: {len(back)}"
    for (caller, callee), call in back.items():
        yield f"    {caller} -> {callee}: {call}"
    if record.decodes:
        calls = record.decodes.total()
        yield f"  decodes of the request: {len(record.decodes)} places, {calls} calls"
        for place, count in record.decodes.items():
            yield f"    {count} {place}"


def picture(record: Record) -> Iterator[str]:
    """Draw a journey with Mermaid: each room, and an arrow from the room that called it first.

    Rooms are numbered as they are entered; a dotted arrow is a hop back. The lowest layers,
    which every room uses, are left out.
    """
    back = hops_back(record)
    nodes = {name: f"r{number}" for number, name in enumerate(drawn_rooms(record), 1)}
    yield "```mermaid"
    yield "flowchart LR"
    for number, (name, node) in enumerate(nodes.items(), 1):
        yield f'  {node}["{number} {name}"]'
    for caller, callee in first_calls(record):
        arrow = "-.->" if (caller, callee) in back else "-->"
        yield f"  {nodes[caller]} {arrow} {nodes[callee]}"
    yield "```"


def first_calls(record: Record) -> Iterator[tuple[str, str]]:
    """Yield for each room but the first the room from which it was entered first.

    A room that the event loop entered follows the one that was entered before it.
    """
    callers: dict[str, str] = {}
    for caller, callee in record.calls:
        if room(caller) != room(callee):
            callers.setdefault(room(callee), room(caller))
    names = drawn_rooms(record)
    for previous, name in pairwise(names):
        caller = callers.get(name, previous)
        known = caller in names and names.index(caller) < names.index(name)
        yield (caller if known else previous), name


def drawn_rooms(record: Record) -> list[str]:
    """Return the rooms of the picture, in the order in which they were first entered."""
    return [name for name in rooms(record) if name.partition("/")[0] not in LOWEST]
