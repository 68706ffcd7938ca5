"""Flags merged over defaults: order, what is unknown, what does not fit."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from tests.support.certmanager.samplebundle import TABLES

from certwright.operators.certmanager.flags.effective import (
    EffectiveFlags,
    Overrides,
    effective,
)
from certwright.operators.certmanager.request import Component, Reason

DEFAULTS = (
    "--v=2",
    "--cluster-resource-namespace=$(POD_NAMESPACE)",
    "--max-concurrent-challenges=60",
)
NEWEST = "v1.21.2"


def merge(
    flags: dict[str, Any],
    *,
    defaults: Sequence[str] = DEFAULTS,
    component: Component = Component.CONTROLLER,
    version: str = NEWEST,
    unvalidated: Sequence[str] = (),
) -> EffectiveFlags:
    return effective(component, version, defaults, Overrides(flags, unvalidated), TABLES)


def reasons(found: EffectiveFlags) -> list[tuple[str, str]]:
    return [(problem.reason.value, problem.field) for problem in found.problems]


def test_without_overrides_the_defaults_stay() -> None:
    assert merge({}) == EffectiveFlags(
        DEFAULTS,
        {
            "v": ("2",),
            "cluster-resource-namespace": ("$(POD_NAMESPACE)",),
            "max-concurrent-challenges": ("60",),
        },
    )


@pytest.mark.scenario("CMD-11")
def test_an_override_stands_beside_all_defaults_in_a_stable_order() -> None:
    flags = {"leader-elect": True, "enable-certificate-owner-ref": True, "kube-api-burst": 100}
    wanted = (
        *DEFAULTS,
        "--enable-certificate-owner-ref=true",
        "--kube-api-burst=100",
        "--leader-elect=true",
    )
    assert {merge(dict(order)).args for order in permutations(flags.items())} == {wanted}


def test_a_changed_default_stays_in_its_place() -> None:
    assert merge({"v": 6}).args == ("--v=6", *DEFAULTS[1:])


@pytest.mark.scenario("CMD-13")
def test_null_removes_a_default() -> None:
    assert merge({"v": None}).args == DEFAULTS[1:]
    assert merge({"leader-elect": None}).args == DEFAULTS


def test_repeated_defaults_are_replaced_as_one() -> None:
    names = [f"--dynamic-serving-dns-names={name}" for name in ("a", "b", "c")]
    found = merge(
        {"dynamic-serving-dns-names": ["x", "y"]},
        defaults=["--v=2", *names, "--secure-port=10250"],
        component=Component.WEBHOOK,
    )
    assert found.args == (
        "--v=2",
        "--dynamic-serving-dns-names=x",
        "--dynamic-serving-dns-names=y",
        "--secure-port=10250",
    )


def test_unvalidated_arguments_come_last_as_they_are() -> None:
    found = merge({"leader-elect": True}, unvalidated=["--new=1", "--v=9", "word"])
    assert found.args == (*DEFAULTS, "--leader-elect=true", "--new=1", "--v=9", "word")
    assert found.value("v") == "9"


def test_unvalidated_arguments_are_bounded() -> None:
    assert reasons(merge({}, unvalidated=["--a"] * 201)) == [
        ("InvalidFlagValue", "unvalidatedArgs")
    ]
    assert reasons(merge({}, unvalidated=["a" * 20000])) == [
        ("InvalidFlagValue", "unvalidatedArgs")
    ]
    assert reasons(merge({}, unvalidated=[""])) == [("InvalidFlagValue", "unvalidatedArgs")]


@pytest.mark.scenario("CMD-44")
def test_an_unknown_flag_is_named_with_similar_ones() -> None:
    (problem,) = merge({"dns01-recursive-nameserver": "8.8.8.8:53"}).problems
    assert problem.reason is Reason.UNKNOWN_FLAG
    assert problem.component is Component.CONTROLLER
    assert problem.field == "dns01-recursive-nameserver"
    assert "controller v1.21.2 has no flag dns01-recursive-nameserver" in problem.message
    assert "did you mean dns01-recursive-nameservers" in problem.message


@pytest.mark.scenario("CMD-44")
@pytest.mark.parametrize(
    ("name", "version", "words"),
    [
        ("dns01-self-check-nameservers", "v1.21.2", "it was removed in 1.7"),
        ("metrics-tls-min-version", "v1.2.0", "it came with 1.14"),
    ],
)
def test_a_flag_of_other_versions_is_named_with_them(name: str, version: str, words: str) -> None:
    (problem,) = merge({name: "x"}, version=version).problems
    assert problem.reason is Reason.UNKNOWN_FLAG
    assert words in problem.message


@pytest.mark.parametrize("name", ["--leader-elect", "leader_elect"])
def test_other_spellings_lead_to_the_flag(name: str) -> None:
    (problem,) = merge({name: True}).problems
    assert "did you mean leader-elect" in problem.message


@pytest.mark.scenario("CMD-45")
def test_a_value_of_another_type_is_refused() -> None:
    (problem,) = merge({"leader-elect": "yes"}).problems
    assert problem.reason is Reason.INVALID_FLAG_VALUE
    assert problem.message == "flag leader-elect of controller: 'yes' must be true or false"


def test_all_problems_are_listed_at_once() -> None:
    found = merge({"leader-elect": "yes", "nonsense": 1, "kube-api-qps": "fast"})
    assert reasons(found) == [
        ("InvalidFlagValue", "kube-api-qps"),
        ("InvalidFlagValue", "leader-elect"),
        ("UnknownFlag", "nonsense"),
    ]


def test_long_values_are_cut_in_messages() -> None:
    (problem,) = merge({"leader-elect": "x" * 5000}).problems
    assert len(problem.message) < 200


@pytest.mark.scenario("CMD-50")
@pytest.mark.parametrize(
    "flags",
    [
        {"kube-api-burst": 10, "kube-api-qps": 20},
        {"kube-api-burst": 10},  # 20 is built in
        {"kube-api-qps": 60.5},  # 50 is built in
    ],
)
def test_burst_must_not_be_less_than_qps(flags: dict[str, Any]) -> None:
    (problem,) = merge(flags).problems
    assert problem.reason is Reason.INVALID_FLAG_VALUE
    assert problem.field == "kube-api-burst"
    assert "must not be less than kube-api-qps" in problem.message


def test_burst_may_equal_qps() -> None:
    assert not merge({"kube-api-burst": 50, "kube-api-qps": 50}).problems


ELECTION = "leader-election-"


@pytest.mark.parametrize(
    ("flags", "wrong"),
    [
        ({"renew-deadline": "60s", "lease-duration": "60s"}, "renew-deadline"),
        ({"lease-duration": "30s"}, "renew-deadline"),
        ({"retry-period": "40s"}, "retry-period"),
        ({"retry-period": "1m", "renew-deadline": "50s"}, "retry-period"),
    ],
)
def test_times_of_leader_election_fit_each_other(flags: dict[str, str], wrong: str) -> None:
    found = merge({f"{ELECTION}{name}": value for name, value in flags.items()})
    assert reasons(found) == [("InvalidFlagValue", f"{ELECTION}{wrong}")]


def test_times_that_fit_are_taken() -> None:
    times = {"lease-duration": "30s", "renew-deadline": "20s", "retry-period": "5s"}
    assert not merge({f"{ELECTION}{name}": value for name, value in times.items()}).problems


@pytest.mark.parametrize("name", ["max-concurrent-challenges", "kube-api-burst", "kube-api-qps"])
def test_numbers_must_be_positive(name: str) -> None:
    found = merge({name: 0, "kube-api-qps": 0})
    assert ("InvalidFlagValue", name) in reasons(found)


def test_the_log_level_may_be_zero() -> None:
    assert not merge({"v": 0}).problems


@pytest.mark.parametrize("port", [0, 65536, 1000000])
def test_ports_are_ports(port: int) -> None:
    found = merge({"secure-port": port}, defaults=[], component=Component.WEBHOOK)
    assert reasons(found) == [("InvalidFlagValue", "secure-port")]


@pytest.mark.parametrize("name", ["Kube", "a/b", "$(OTHER)", "x" * 64])
def test_namespaces_are_names(name: str) -> None:
    found = merge({"leader-election-namespace": name})
    assert reasons(found) == [("InvalidFlagValue", "leader-election-namespace")]


def test_the_own_namespace_may_be_written_as_a_variable() -> None:
    assert not merge({"leader-election-namespace": "$(POD_NAMESPACE)"}).problems


@pytest.mark.parametrize(
    ("gates", "words"),
    [
        ({"ServerSideAply": True}, "did you mean ServerSideApply"),
        ({"ServerSideApply": "on"}, "must be true or false"),
    ],
)
def test_feature_gates_are_checked(gates: dict[str, Any], words: str) -> None:
    (problem,) = merge({"feature-gates": gates}).problems
    assert problem.reason is Reason.INVALID_FLAG_VALUE
    assert words in problem.message


def test_known_gates_are_taken_and_sorted() -> None:
    found = merge({"feature-gates": {"ServerSideApply": True, "AllAlpha": False}})
    assert found.args[-1] == "--feature-gates=AllAlpha=false,ServerSideApply=true"
    assert not found.problems


def test_gates_that_the_catalogue_does_not_know_are_left_to_the_program() -> None:
    found = merge({"feature-gates": {"X": True}}, defaults=[], component=Component.WEBHOOK)
    assert not found.problems
