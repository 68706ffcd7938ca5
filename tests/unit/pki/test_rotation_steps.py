"""Rotation by observed facts: the step that follows, and that no order of events breaks it."""

import itertools
from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from certwright.pki.rotation import (
    Rotation,
    RotationAction,
    RotationPhase,
    Succession,
    TrustPlace,
)

MINUTE = timedelta(minutes=1)
ROTATION = Rotation(10 * MINUTE, timedelta(days=2), soonest=MINUTE)
OLD, NEW = "old", "new"
LONG = timedelta(days=1)


def place(name: str, *trusts: str, signer: str = OLD, server: bool = False) -> TrustPlace:
    return TrustPlace(
        name, frozenset(trusts), signer, is_server=server, trusts_for=LONG, signed_for=LONG
    )


def found(
    signer: str, *trusted: str, after: str = "", places: tuple[TrustPlace, ...]
) -> Succession:
    return Succession(signer, after, frozenset(trusted), places)


def test_nothing_happens_until_it_is_due() -> None:
    stable = found(OLD, OLD, places=(place("a", OLD),))
    assert ROTATION.step(stable).phase is RotationPhase.STABLE
    assert ROTATION.step(stable).action is RotationAction.NONE
    assert ROTATION.step(replace(stable, due=True)).action is RotationAction.PREPARE


def test_a_place_that_lacks_its_authorities_puts_the_beginning_off() -> None:
    begun = replace(found(OLD, OLD, places=(place("a"),)), due=True)
    assert ROTATION.step(begun).action is RotationAction.NONE
    assert ROTATION.step(begun).phase is RotationPhase.STABLE


def test_all_places_name_both_before_anything_else() -> None:
    places = (place("a", OLD, NEW), place("b", OLD))
    step = ROTATION.step(found(OLD, OLD, NEW, after=NEW, places=places))
    assert (step.phase, step.action) == (RotationPhase.PREPARED, RotationAction.NONE)
    assert step.waiting_for == ("b",)


def test_clients_prove_that_they_have_it_where_that_is_observed() -> None:
    places = (place("s", OLD, NEW, server=True), place("a", OLD, NEW))
    prepared = replace(found(OLD, OLD, NEW, after=NEW, places=places), observed=True)
    step = ROTATION.step(prepared)
    assert (step.action, step.waiting_for) == (RotationAction.PROVE, ("a",))
    ordered = replace(prepared, ordered=RotationAction.PROVE)
    assert ROTATION.step(ordered).action is RotationAction.NONE
    assert ROTATION.step(replace(prepared, observed=False)).action is RotationAction.ACTIVATE


@pytest.mark.parametrize(
    ("age", "facts", "left"),
    [
        (9, {"proven"}, 1),
        (10, set(), 0),
        (0.5, {"proven", "shown"}, 0.5),
        (1, {"proven", "shown"}, 0),
        (5, {"shown"}, 5),
    ],
)
def test_it_goes_on_when_all_have_shown_it_or_after_the_time(
    age: float, facts: set[str], left: float
) -> None:
    known = replace(
        place("a", OLD, NEW),
        proven="proven" in facts,
        shown="shown" in facts,
        trusts_for=age * MINUTE,
        lagging=("pod",),
    )
    step = ROTATION.step(found(OLD, OLD, NEW, after=NEW, places=(known,)))
    assert step.phase is RotationPhase.DISTRIBUTED
    assert (step.action is RotationAction.ACTIVATE) is (left == 0)
    if left:
        assert step.waiting_for == ("pod",)
        assert step.after == left * MINUTE


def test_who_is_late_is_named_alone_once_the_others_are_old_enough() -> None:
    shown = replace(place("a", OLD, NEW), proven=True, shown=True, trusts_for=MINUTE / 2)
    late = replace(place("b", OLD, NEW), lagging=("pod",), trusts_for=MINUTE / 2)
    before = found(OLD, OLD, NEW, after=NEW, places=(shown, late))
    step = ROTATION.step(before)
    assert (step.waiting_for, step.after) == (("a", "pod"), MINUTE / 2)
    older = tuple(replace(one, trusts_for=MINUTE) for one in before.places)
    step = ROTATION.step(replace(before, places=older))
    assert (step.waiting_for, step.after) == (("pod",), 9 * MINUTE)


def test_servers_first_then_clients_then_the_old_one_goes() -> None:
    server, client = place("s", OLD, NEW, server=True), place("a", OLD, NEW)
    active = found(NEW, OLD, NEW, places=(server, client))
    step = ROTATION.step(active)
    assert (step.phase, step.action) == (RotationPhase.ACTIVATED, RotationAction.REISSUE_SERVERS)
    assert ROTATION.step(replace(active, ordered=step.action)).action is RotationAction.NONE
    server = replace(server, signer=NEW)
    step = ROTATION.step(replace(active, places=(server, client)))
    assert step.action is RotationAction.REISSUE_ALL
    client = replace(client, signer=NEW, signed_for=9 * MINUTE)
    step = ROTATION.step(replace(active, places=(server, client)))
    assert (step.action, step.after) == (RotationAction.NONE, MINUTE)
    client = replace(client, signed_for=10 * MINUTE)
    assert ROTATION.step(replace(active, places=(server, client))).action is RotationAction.RETIRE


def test_what_a_lost_authority_signed_is_replaced_when_the_new_one_is_known() -> None:
    server = replace(place("s", OLD, NEW, server=True), trusts_for=MINUTE)
    lost = found(NEW, OLD, NEW, places=(server,))
    assert ROTATION.step(lost).action is RotationAction.NONE
    known = replace(server, trusts_for=10 * MINUTE)
    assert ROTATION.step(replace(lost, places=(known,))).action is RotationAction.REISSUE_SERVERS


def test_it_is_over_when_no_place_names_the_old_one() -> None:
    retired = found(NEW, NEW, places=(place("a", OLD, NEW, signer=NEW),))
    assert ROTATION.step(retired).phase is RotationPhase.RETIRED
    assert ROTATION.step(replace(retired, due=True)).action is RotationAction.NONE
    over = replace(retired, places=(place("a", NEW, signer=NEW),))
    assert ROTATION.step(over).phase is RotationPhase.STABLE


@dataclass
class World:
    """Authorities and places, followed by readers that are behind by up to the propagation."""

    clock: timedelta = timedelta()
    signer: str = OLD
    next: str = ""
    trusted: frozenset[str] = frozenset({OLD})
    ordered: RotationAction = RotationAction.NONE
    written: dict[str, list[tuple[timedelta, frozenset[str], str]]] = field(default_factory=dict)

    def write(self, name: str, trusts: frozenset[str], signer: str) -> None:
        self.written.setdefault(name, []).append((self.clock, trusts, signer))

    def place(self, name: str) -> TrustPlace:
        versions = self.written[name]
        _, trusts, signer = versions[-1]

        def since(same: int) -> timedelta:
            run = itertools.takewhile(
                lambda one: one[same] == versions[-1][same], reversed(versions)
            )
            return self.clock - list(run)[-1][0]

        return TrustPlace(
            name, trusts, signer, is_server=name == "server", trusts_for=since(1),
            signed_for=since(2),
        )  # fmt: skip

    def held(self, name: str) -> list[tuple[frozenset[str], str]]:
        """Return all that a reader may hold now."""
        versions = self.written[name]
        ends = [*(later[0] for later in versions[1:]), None]
        return [
            (trusts, signer)
            for (_, trusts, signer), end in zip(versions, ends, strict=True)
            if end is None or self.clock - end < ROTATION.propagation
        ]

    def act(self, action: RotationAction) -> None:
        match action:
            case RotationAction.PREPARE:
                self.next, self.trusted = NEW, frozenset({OLD, NEW})
            case RotationAction.ACTIVATE:
                self.signer, self.next = self.next, ""
            case RotationAction.RETIRE:
                self.trusted = frozenset({self.signer})
        orders = {RotationAction.REISSUE_ALL, RotationAction.REISSUE_SERVERS}
        self.ordered = action if action in orders else RotationAction.NONE

    def follow(self, name: str) -> None:
        """Let one place follow the authority, as its own controller would."""
        _, _, signer = self.written[name][-1]
        everyone = self.ordered is RotationAction.REISSUE_ALL
        servers = self.ordered is RotationAction.REISSUE_SERVERS and name == "server"
        self.write(name, self.trusted, self.signer if everyone or servers else signer)


@pytest.mark.parametrize("order", list(itertools.permutations(["server", "a", "b"])))
@pytest.mark.parametrize("pause", [1, 4, 11])
def test_no_readers_ever_fail_to_verify_each_other(order: tuple[str, ...], pause: int) -> None:
    world = World()
    for name in order:
        world.write(name, world.trusted, OLD)
    world.clock = LONG
    due, phases = True, []
    for turn in range(200):
        places = tuple(world.place(name) for name in order)
        seen = Succession(
            world.signer, world.next, world.trusted, places, due=due, ordered=world.ordered
        )
        step = ROTATION.step(seen)
        phases.append(step.phase)
        if step.action is not RotationAction.NONE:
            due = due and step.action is not RotationAction.PREPARE
            world.act(step.action)
        else:
            world.follow(order[turn % 3])
        for mine, other in itertools.product(order, repeat=2):
            for trusts, _ in world.held(mine):
                assert all(signer in trusts for _, signer in world.held(other))
        world.clock += pause * MINUTE
    assert {signer for name in order for _, signer in world.held(name)} == {NEW}
    assert phases[-1] is RotationPhase.STABLE
    assert list(dict.fromkeys(phases)) == list(RotationPhase)
