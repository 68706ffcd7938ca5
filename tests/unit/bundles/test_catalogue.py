"""What is committed about versions, flags and feature gates; the modules are in test_modules."""

import re
from itertools import pairwise

import msgspec
import pytest
from tests.support.bundles.small import small_bundle

from certwright.bundles.bundle import Bundle
from certwright.bundles.catalogue import COMPONENTS, Catalogue, UnknownVersion, load
from certwright.bundles.errors import BundleCorrupt
from certwright.bundles.versions import Minor, Release

CATALOGUE = load()
NEWEST = "v1.21.2"


def names(component: str, version: str) -> set[str]:
    return set(CATALOGUE.flags(component, version))


def test_there_is_a_patch_of_every_minor_version() -> None:
    minors = [Release.parse(version).minor for version in CATALOGUE.versions]
    assert list(dict.fromkeys(minors)) == [Minor(1, minor) for minor in range(22)]
    assert list(CATALOGUE.minors) == [Minor(1, minor) for minor in range(22)]
    assert {"v1.1.0", "v1.2.0", "v1.12.10", "v1.19.5"} <= set(CATALOGUE.versions)
    assert CATALOGUE.versions[0] == "v1.0.4"
    assert CATALOGUE.versions[-1] == CATALOGUE.default == NEWEST


def test_facts_have_the_form_they_must_have() -> None:
    for version in CATALOGUE.versions:
        facts = CATALOGUE.version(version)
        old = Release.parse(version).minor < Minor(1, 8)
        assert facts.module == f"github.com/{'jetstack' if old else 'cert-manager'}/cert-manager"
        assert re.fullmatch(r"h1:[A-Za-z0-9+/]{43}=", facts.sum), version
        assert re.fullmatch(r"[0-9a-f]{64}", facts.digest), version
        oldest, newest = map(Minor.parse, (facts.kubernetes.oldest, facts.kubernetes.newest))
        assert Minor(1, 16) <= oldest < newest <= Minor(1, 36), version
        assert all(note.endswith(".") for note in facts.notes), version
    digests = [CATALOGUE.version(version).digest for version in CATALOGUE.versions]
    assert len(set(digests)) == len(digests)


def test_a_version_that_is_not_there() -> None:
    with pytest.raises(
        UnknownVersion, match=r"v1\.12\.17 is not in the catalogue, which has v1\.0\.4, "
    ):
        CATALOGUE.version("v1.12.17")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.21.2", "v1.21.2"),
        ("1.21.2", "v1.21.2"),
        ("1.21", "v1.21.2"),
        ("v1.1", "v1.1.1"),
        ("1.1.0", "v1.1.0"),
        ("1.2", "v1.2.0"),
    ],
)
def test_versions_are_found_by_short_names(text: str, version: str) -> None:
    assert CATALOGUE.find(text) == version


@pytest.mark.parametrize("text", ["", "1.22", "v0.16", "latest", "1.21.", "vv1.21"])
def test_names_of_no_version(text: str) -> None:
    with pytest.raises(UnknownVersion):
        CATALOGUE.find(text)


def test_the_window_of_kubernetes_goes_by_the_minor_version() -> None:
    window = CATALOGUE.window("v1.21.99")
    assert window is not None
    assert (window.oldest, window.newest) == ("1.33", "1.36")
    assert [window.holds(one) for one in ("1.9", "1.32", "1.33", "1.36", "1.37")] == [
        False, False, True, True, False,
    ]  # fmt: skip
    assert CATALOGUE.window("v1.99.0") is None


def test_notes_of_all_steps_between_two_versions() -> None:
    steps = [minor for minor, _ in CATALOGUE.notes("v1.5.5", "v1.8.2")]
    assert list(dict.fromkeys(steps)) == ["1.6", "1.7", "1.8"]
    assert CATALOGUE.notes("v1.21.1", "v1.21.2") == []
    assert CATALOGUE.notes("v1.21.2", "v1.5.5") == []


def test_every_component_is_known() -> None:
    for component in COMPONENTS:
        for version in CATALOGUE.versions:
            assert "v" in CATALOGUE.flags(component, version)
    with pytest.raises(KeyError):
        CATALOGUE.flags("acmesolver", NEWEST)


def test_how_many_flags_the_newest_has() -> None:
    """Fifteen of each are about logs."""
    counts = {component: len(names(component, NEWEST)) - 15 for component in COMPONENTS}
    assert counts == {"controller": 59, "cainjector": 26, "webhook": 28}


@pytest.mark.parametrize(
    ("component", "flag", "before", "first"),
    [
        ("controller", "kube-api-qps", "v1.0.4", "v1.1.0"),
        ("controller", "enable-profiling", "v1.1.0", "v1.2.0"),
        ("controller", "copied-annotation-prefixes", "v1.4.4", "v1.5.5"),
        ("controller", "concurrent-workers", "v1.11.5", "v1.12.10"),
        ("controller", "config", "v1.12.10", "v1.13.6"),
        ("controller", "metrics-tls-cert-file", "v1.13.6", "v1.14.7"),
        ("controller", "enable-gateway-api", "v1.14.7", "v1.15.5"),
        ("controller", "max-certificate-size", "v1.19.5", "v1.20.3"),
        ("controller", "gateway-api-extra-protocols", "v1.20.3", "v1.21.2"),
        ("webhook", "api-server-host", "v1.2.0", "v1.3.3"),
        ("webhook", "feature-gates", "v1.6.3", "v1.7.3"),
        ("webhook", "metrics-listen-address", "v1.15.5", "v1.16.5"),
        ("webhook", "client-ca-path", "v1.19.5", "v1.20.3"),
        ("cainjector", "leader-election-lease-duration", "v1.1.0", "v1.2.0"),
        ("cainjector", "enable-apiservices-injectable", "v1.11.5", "v1.12.10"),
        ("cainjector", "config", "v1.13.6", "v1.14.7"),
        ("cainjector", "ignore-namespaces", "v1.20.3", "v1.21.2"),
    ],
)
def test_since_when_flags_exist(component: str, flag: str, before: str, first: str) -> None:
    assert flag not in names(component, before)
    assert flag in names(component, first)
    assert flag in names(component, NEWEST)


@pytest.mark.parametrize(
    ("component", "flag", "last", "without"),
    [
        ("controller", "renew-before-expiry-duration", "v1.2.0", "v1.3.3"),
        ("controller", "dns01-self-check-nameservers", "v1.6.3", "v1.7.3"),
        ("cainjector", "master", "v1.3.3", "v1.4.4"),
    ],
)
def test_flags_that_went(component: str, flag: str, last: str, without: str) -> None:
    assert flag in names(component, last)
    assert flag not in names(component, without)


def test_types_of_flags() -> None:
    flags = CATALOGUE.flags("controller", NEWEST)
    assert {flags[name].type for name in ("kube-api-burst", "v", "max-concurrent-challenges")} == {
        "i"
    }
    assert flags["kube-api-qps"].type == "f"
    assert flags["leader-election-lease-duration"].type == "d"
    assert flags["dns01-recursive-nameservers"].type == "l"
    assert flags["dns01-recursive-nameservers"].style == "comma"
    assert flags["feature-gates"].type == flags["acme-http01-solver-extra-labels"].type == "m"
    assert flags["internal-healthz-listen-address"].hidden
    assert CATALOGUE.flags("webhook", NEWEST)["dynamic-serving-dns-names"].style == "repeat"


def test_flags_are_listed_once_by_name() -> None:
    for component in COMPONENTS:
        listed = [flag.name for flag in CATALOGUE.all_flags(component)]
        assert listed == sorted(set(listed))
        gates = [gate.name for gate in CATALOGUE.all_feature_gates(component)]
        assert gates == sorted(set(gates))


def test_stages_of_a_feature_gate() -> None:
    gates = {gate.name: gate for gate in CATALOGUE.all_feature_gates("controller")}
    gate = gates["AdditionalCertificateOutputFormats"]
    stages = [gate.stage_in(Minor.parse(text)) for text in ("1.6", "1.7", "1.14", "1.15", "1.21")]
    assert [stage and (stage.stage, stage.default) for stage in stages] == [
        None, ("Alpha", False), ("Alpha", False), ("Beta", True), ("GA", True),
    ]  # fmt: skip
    assert "ListenerSets" not in CATALOGUE.feature_gates("controller", "v1.19.5")
    assert "ListenerSets" in CATALOGUE.feature_gates("controller", "v1.20.3")
    assert not CATALOGUE.feature_gates("webhook", "v1.6.3")


def test_stages_go_on() -> None:
    for component in COMPONENTS:
        for gate in CATALOGUE.all_feature_gates(component):
            since = [Minor.parse(stage.since) for stage in gate.stages]
            assert all(one < next_ for one, next_ in pairwise(since)), gate.name


def test_a_bundle_is_compared_with_the_digest_of_its_version() -> None:
    digest = CATALOGUE.version(NEWEST).digest
    assert CATALOGUE.check(Bundle(NEWEST, (), digest))
    assert not CATALOGUE.check(small_bundle())
    with pytest.raises(BundleCorrupt) as other:
        CATALOGUE.check(small_bundle(NEWEST), "here")
    assert str(other.value).startswith("here: not cert-manager v1.21.2 as it was released (digest ")
    assert "such as v1.21.2-mine.1; make it again: certwright bundle build v1.21.2" in str(
        other.value
    )


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"default": "v1.0.0"}'])
def test_a_catalogue_that_is_none(content: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        Catalogue(content)
