"""Random traces of operations, as they are drawn.

A trace is data: it names versions as "current" or "stale", and the player looks up what that
means in the conversation it holds. So the same trace is the same story for every server.
"""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from tests.support.contract.trace_subjects import Json, Subject

NAMES = ("one", "two")
MANAGERS = ("anna", "bert", "kubectl")


@dataclass(frozen=True)
class Operation:
    """One request, as far as it can be known before the trace is played."""

    verb: str
    name: str = ""
    content: Any = None
    """What is written: an object without its identity, a patch, or a status."""
    query: tuple[str, ...] = ()
    version: str = "none"
    """The resourceVersion sent along: none, current, stale."""
    uid: str = "none"
    subresource: str = ""
    edits_seen: bool = False
    """Whether an update starts from the object last seen, as a polite client would."""

    def __repr__(self) -> str:
        shown = {
            name: value
            for name, value in vars(self).items()
            if value not in (None, "", "none", (), False)
        }
        return f"Operation({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def merged(*pieces: Json) -> Json:
    """Lay objects over each other; lists and scalars of later ones win."""
    result: Json = {}
    for piece in pieces:
        for name, value in piece.items():
            if isinstance(value, dict):
                below = result.get(name)
                result[name] = merged(below if isinstance(below, dict) else {}, value)
            else:
                result[name] = value
    return result


_QUERIES = (
    (),
    (),
    (),
    (),
    ("dryRun=All",),
    ("fieldValidation=Strict",),
    ("fieldValidation=Ignore",),
)
_VERSIONS = ("none", "current", "current", "stale")


@st.composite
def _contents(draw: st.DrawFn, subject: Subject) -> Json:
    pool = subject.pieces * 4 + subject.odd
    return merged(*draw(st.lists(st.sampled_from(pool), max_size=3)))


@st.composite
def _objects(draw: st.DrawFn, subject: Subject) -> Json:
    base = subject.base if draw(st.sampled_from((True, True, True, True, False))) else {}
    return merged(base, draw(_contents(subject)))


def _creates(subject: Subject) -> st.SearchStrategy[Operation]:
    return st.builds(
        Operation,
        st.just("create"),
        st.sampled_from(NAMES),
        _objects(subject),
        _queries(),
        st.sampled_from(("none", "none", "none", "current")),
    )


def _puts(subject: Subject) -> st.SearchStrategy[Operation]:
    return st.builds(
        Operation,
        st.just("put"),
        st.sampled_from(NAMES),
        _objects(subject),
        _queries(),
        st.sampled_from(_VERSIONS),
        uid=st.sampled_from(("none", "none", "current", "wrong")),
        edits_seen=st.booleans(),
    )


def _applies(subject: Subject) -> st.SearchStrategy[Operation]:
    return st.builds(
        Operation,
        st.just("apply"),
        st.sampled_from(NAMES),
        _objects(subject),
        _queries("force=true", "force=true", "force=false"),
        st.sampled_from(("none", "none", "none", "none", "current", "stale")),
    )


def _patches(subject: Subject) -> st.SearchStrategy[Operation]:
    merges = _contents(subject) | st.sampled_from(subject.removals)
    documents = {"merge": merges, "json": st.sampled_from(subject.edits)}
    # Custom resources refuse it: once in a while is enough.
    documents["strategic"] = merges
    if subject.strategic:
        documents["strategic"] |= st.sampled_from(subject.strategic)
    return st.one_of(
        [
            st.builds(
                Operation,
                st.just(verb),
                st.sampled_from(NAMES),
                content,
                _queries(),
                st.sampled_from(("none", "none", "none", "stale"))
                if verb != "json"
                else st.just("none"),
            )
            for verb, content in documents.items()
        ]
    )


def _status_writes(subject: Subject) -> st.SearchStrategy[Operation]:
    return st.builds(
        Operation,
        st.sampled_from(("put", "apply", "merge", "get")),
        st.sampled_from(NAMES),
        st.builds(
            lambda status, rest: {**rest, "status": status},
            st.sampled_from(subject.statuses),
            st.just({}) | st.sampled_from(subject.pieces),
        ),
        _queries("force=true"),
        st.sampled_from(_VERSIONS),
        subresource=st.just("status"),
        edits_seen=st.booleans(),
    )


def _scalings() -> st.SearchStrategy[Operation]:
    return st.builds(
        Operation,
        st.sampled_from(("put", "merge", "get")),
        st.sampled_from(NAMES),
        st.sampled_from([{"spec": {"replicas": number}} for number in (0, 1, 2, 2, 3, -1)]),
        _queries(),
        st.sampled_from(_VERSIONS),
        subresource=st.just("scale"),
    )


def _deletes(subject: Subject) -> st.SearchStrategy[Operation]:
    one = st.builds(
        Operation,
        st.just("delete"),
        st.sampled_from(NAMES),
        query=st.sampled_from(((), (), ("dryRun=All",), ("gracePeriodSeconds=0",))),
        version=st.sampled_from(("none", "none", "current", "stale")),
        uid=st.sampled_from(("none", "none", "current", "wrong")),
    )
    several = st.builds(
        Operation,
        st.just("deletecollection"),
        query=st.tuples(st.sampled_from(subject.selectors)),
    )
    return st.one_of(one, one, one, several)


def _reads(subject: Subject) -> st.SearchStrategy[Operation]:
    gets = st.builds(Operation, st.just("get"), st.sampled_from(NAMES))
    lists = st.builds(
        Operation,
        st.just("list"),
        query=st.tuples(
            st.sampled_from((*subject.selectors, "fieldSelector=metadata.name=one", "limit=1"))
        ),
        version=st.sampled_from(("none", "none", "stale")),
    )
    return gets | lists


@st.composite
def _queries(draw: st.DrawFn, *more: str) -> tuple[str, ...]:
    manager = draw(st.sampled_from(MANAGERS))
    extra = (
        (
            draw(
                st.sampled_from((*more, "")),
            ),
        )
        if more
        else ()
    )
    return (f"fieldManager={manager}", *draw(st.sampled_from(_QUERIES)), *filter(None, extra))


def operations(subject: Subject) -> st.SearchStrategy[Operation]:
    """Draw an operation on a kind."""
    kinds = [_creates(subject)] * 2 + [_puts(subject)] * 2 + [_applies(subject)] * 4
    kinds += [_patches(subject)] * 3 + [_deletes(subject), _reads(subject)]
    kinds += [_status_writes(subject)] * 2 if subject.statuses else []
    kinds += [_scalings()] if subject.scale else []
    return st.one_of(kinds)


def traces(subject: Subject) -> st.SearchStrategy[list[Operation]]:
    """Draw a trace on a kind."""
    return st.lists(operations(subject), min_size=5, max_size=15)
