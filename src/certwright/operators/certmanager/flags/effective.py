"""The flags a component runs with: defaults of the bundle, and overrides that are merged over them.

The order of arguments is fixed, because another order would restart the pods: defaults as in the
bundle, a changed one in its place, then what was added, by name, then what was not validated.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from certwright.operators.certmanager.flags.arguments import Argument, by_name, parse_all
from certwright.operators.certmanager.flags.checks import contradictions
from certwright.operators.certmanager.flags.table import FlagTables, KnownFlag
from certwright.operators.certmanager.flags.values import InvalidValue, texts_of
from certwright.operators.certmanager.request import Component, FlagValue, Problem, Reason

FEATURE_GATES: Final = "feature-gates"
_ALL_GATES: Final = ("AllAlpha", "AllBeta")
_MOST: Final = 200
"""Arguments of one container, no flag of cert-manager being needed twice."""
_LONGEST_ARGUMENT: Final = 16384


@dataclass(frozen=True, slots=True)
class EffectiveFlags:
    """What a component is started with."""

    args: tuple[str, ...]
    values: Mapping[str, tuple[str, ...]]
    """By flag, all values it is given."""
    problems: tuple[Problem, ...] = ()

    def value(self, name: str, default: str = "") -> str:
        """Return the value of a flag that has one: the last counts."""
        return self.values.get(name, (default,))[-1]


@dataclass(frozen=True, slots=True)
class Overrides:
    """What is to be merged over the defaults of a component."""

    flags: Mapping[str, FlagValue]
    """None removes a default."""
    unvalidated: Sequence[str] = ()


def effective(
    component: Component,
    version: str,
    defaults: Sequence[str],
    overrides: Overrides,
    tables: FlagTables,
) -> EffectiveFlags:
    """Merge overrides over the arguments of the bundle."""
    known = tables.flags(component, version)
    problems: list[Problem] = []
    wanted: dict[str, tuple[str, ...]] = {}
    for name, value in sorted(overrides.flags.items()):
        flag = known.get(name)
        if flag is None:
            message = _unknown(component, version, name, tables)
            problems.append(Problem(Reason.UNKNOWN_FLAG, component, message, name))
        elif value is None:
            wanted[name] = ()
        else:
            try:
                wanted[name] = texts_of(flag, value)
            except InvalidValue as error:
                problems.append(_invalid(component, name, f"{_shown(value)} {error}"))
    gates = tables.feature_gates(component, version)
    problems += _gates(component, version, wanted.get(FEATURE_GATES, ()), gates)
    problems += _unvalidated(component, overrides.unvalidated)
    arguments = [*_merged(list(parse_all(defaults)), wanted), *parse_all(overrides.unvalidated)]
    values = by_name(arguments)
    if not problems:
        found = contradictions(values)
        problems += [_invalid(component, name, text) for name, text in found]
    return EffectiveFlags(tuple(argument.text for argument in arguments), values, tuple(problems))


def _merged(
    defaults: Sequence[Argument], wanted: Mapping[str, tuple[str, ...]]
) -> Iterator[Argument]:
    """Yield defaults, changed ones in the place of the first, then what is new, in its order."""
    left = dict(wanted)
    replaced: set[str] = set()
    for argument in defaults:
        if argument.name in left:
            replaced.add(argument.name)
            for value in left.pop(argument.name):
                yield Argument.of(argument.name, value)
        elif argument.name not in replaced:
            yield argument
    for name, values in left.items():
        for value in values:
            yield Argument.of(name, value)


def _invalid(component: Component, name: str, what: str) -> Problem:
    message = f"flag {name} of {component}: {what}"
    return Problem(Reason.INVALID_FLAG_VALUE, component, message, name)


def _shown(value: FlagValue) -> str:
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= 60 else f"{text[:57]}..."


def _unknown(component: Component, version: str, name: str, tables: FlagTables) -> str:
    """Say that a flag does not exist, which are similar, and where it does exist."""
    message = f"{component} {version} has no flag {name[:60]}"
    elsewhere = [flag for flag in tables.all_flags(component) if flag.name == name]
    if elsewhere:
        message += f": it {_range(elsewhere[0])}"
    bare = name.lstrip("-").replace("_", "-")
    near = get_close_matches(bare, tables.flags(component, version), n=3, cutoff=0.6)
    if near:
        message += f"; did you mean {' or '.join(near)}?"
    return message


def _range(flag: KnownFlag) -> str:
    came, went = f"came with {flag.since}", f"was removed in {flag.removed}"
    return " and ".join(
        text for text, version in ((came, flag.since), (went, flag.removed)) if version
    )


def _gates(
    component: Component, version: str, given: Sequence[str], gates: Collection[str]
) -> Iterator[Problem]:
    """Yield what is wrong with feature gates, as far as the catalogue knows them."""
    known = {*gates, *_ALL_GATES} if gates else set()
    for pair in filter(None, ",".join(given).split(",")):
        name, _, value = pair.partition("=")
        if value.lower() not in {"true", "false"}:
            yield _invalid(component, FEATURE_GATES, f"{name} must be true or false")
        elif known and name not in known:
            near = get_close_matches(name, known, n=3, cutoff=0.6)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            yield _invalid(
                component, FEATURE_GATES, f"{version} has no feature gate {name[:60]}{hint}"
            )


def _unvalidated(component: Component, args: Sequence[str]) -> Iterator[Problem]:
    if len(args) > _MOST:
        yield _invalid(component, "unvalidatedArgs", f"more than {_MOST} arguments")
    elif not all(isinstance(arg, str) and 0 < len(arg) <= _LONGEST_ARGUMENT for arg in args):
        yield _invalid(
            component,
            "unvalidatedArgs",
            f"each must be a text of 1 to {_LONGEST_ARGUMENT} characters",
        )
