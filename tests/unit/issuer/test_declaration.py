"""What authors declare, and what is refused before anything runs."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from msgspec import Struct

from certwright.issuer import Issuer, IssuerApp
from certwright.issuer.declaration import IncompleteApp
from certwright.kube import Object, crd_manifest


@dataclass(frozen=True)
class Spec:
    """Where the authority is."""

    url: str
    retry_limit: int = 3


def app(**options: Any) -> IssuerApp[Any]:
    return IssuerApp(**{"group": "pki.example.com", "kind": "DemoIssuer", "spec": Spec, **options})


@pytest.mark.parametrize(
    ("kind", "cluster"),
    [("DemoIssuer", "DemoClusterIssuer"), ("Demo", "ClusterDemo"), ("CAIssuer", "CAClusterIssuer")],
)
def test_the_cluster_kind_is_named_after_the_namespaced_one(kind: str, cluster: str) -> None:
    made = app(kind=kind).cluster_kind
    assert made is not None
    assert made.resource.kind == cluster


def test_either_kind_may_be_left_out() -> None:
    assert [one.resource.kind for one in app(cluster=False).kinds] == ["DemoIssuer"]
    assert [one.resource.kind for one in app(namespaced=False).kinds] == ["DemoClusterIssuer"]
    assert [one.resource.kind for one in app(cluster_kind="X").kinds] == ["DemoIssuer", "X"]


@pytest.mark.scenario("ISS-94")
def test_the_spec_becomes_the_schema() -> None:
    kind = app().namespaced_kind
    assert kind is not None
    manifest = crd_manifest(kind)
    [version] = manifest["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]
    assert schema["spec"]["required"] == ["url"]
    assert schema["spec"]["properties"]["retryLimit"] == {"type": "integer", "default": 3}
    conditions = schema["status"]["properties"]["conditions"]
    assert conditions["x-kubernetes-list-map-keys"] == ["type"]
    assert version["subresources"] == {"status": {}}
    names = [column["name"] for column in version["additionalPrinterColumns"]]
    assert names == [
        "Ready", "Reason", "Message", "LastTransition", "ObservedGeneration", "Generation", "Age",
    ]  # fmt: skip


@pytest.mark.scenario("ISS-100")
@pytest.mark.parametrize(("given", "kept"), [(0, 1), (5, 5)])
def test_there_is_at_least_one_worker(given: int, kept: int) -> None:
    """Upstream's two rows about concurrency."""
    assert app(workers=given).settings.workers == kept


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"field_owner": ""}, "field_owner is empty"),
        ({"certificate_requests": False, "kubernetes_csrs": False}, "must enable at least one"),
        ({"max_retry": timedelta(seconds=-1)}, "must not be negative"),
        ({"sign_timeout": timedelta()}, "must be positive"),
        ({"group": "nodots"}, "not a domain with a dot"),
        ({"namespaced": False, "cluster": False}, "at least one kind"),
        ({"on_mismatch": "ignore"}, 'write on_mismatch="fail" or on_mismatch="retry"'),
        ({"compat": "v2"}, 'write compat="v1" or compat="upstream"'),
        ({"http_errors": {403: "permanent"}}, r"write http_errors=\{403: Permanent\}"),
        ({"group": ""}, "the group '' is not a domain with a dot"),
        ({"field_owner": "x" * 129}, "longer than 128 characters.*write a shorter field_owner"),
        ({"cluster_kind": "demoissuer"}, 'write cluster_kind="DemoClusterIssuer", or leave it out'),
    ],
)
def test_what_cannot_work_is_refused_at_once(
    options: dict[str, bool | str | timedelta], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        app(**options)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"max_retry": 600}, r"write max_retry=timedelta\(seconds=600\)"),
        ({"sign_timeout": "1m"}, r"write sign_timeout=timedelta\(minutes=5\)"),
        ({"workers": "8"}, "write workers=8"),
        ({"http_errors": [403]}, r"no mapping: write http_errors=\{403: Permanent\}"),
        ({"http_errors": None}, r"no mapping: write http_errors=\{403: Permanent\}"),
        ({"backoff": 5}, r"no Backoff: write backoff=Backoff\(\)"),
        ({"set_ca": "no"}, "write set_ca=True or set_ca=False"),
        ({"namespaced": "x"}, "write namespaced=True or namespaced=False"),
        ({"group": 1}, 'no text: write group="pki.example.com"'),
        ({"kind": None}, 'no text: write kind="DemoIssuer"'),
        ({"version": 1}, 'no text: write version="v1alpha1"'),
        ({"cluster_kind": 1}, 'no text: write cluster_kind="DemoClusterIssuer"'),
        ({"field_owner": 3}, 'no text: write field_owner="pki.example.com"'),
        ({"cluster_resource_namespace": None}, 'write cluster_resource_namespace="pki"'),
        ({"max_retries": 3}, "IssuerApp has no parameter max_retries: write max_retry=…"),
        ({"namespace": "x"}, "write namespaced=…"),
        ({"qqq": 1}, "no parameter qqq: it has backoff, certificate_requests"),
    ],
)
def test_parameters_of_another_type_or_name_show_the_right_line(
    options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(TypeError, match=complaint):
        app(**options)


async def issuer_only(issuer: Any) -> None:
    """Do nothing."""


async def request_and_issuer(request: Any, issuer: Any) -> Any:
    """Do nothing."""


def nothing() -> None:
    """Do nothing."""


RIGHT: dict[str, Any] = {
    "check": issuer_only,
    "sign": request_and_issuer,
    "ignore_request": issuer_only,
    "ignore_issuer": issuer_only,
    "classify_error": issuer_only,
    "on_startup": nothing,
    "on_shutdown": nothing,
}


@pytest.mark.parametrize("name", RIGHT)
def test_decorators_work_with_and_without_parentheses(name: str) -> None:
    made = app()
    function = RIGHT[name]
    assert getattr(made, name)(function) is function
    assert getattr(made, name)()(function) is function
    kept = {**vars(made._author), "on_startup": made._author.startup[:1] or None}
    kept["on_shutdown"] = made._author.shutdown[:1] or None
    assert kept[name] in (function, [function])


@pytest.mark.parametrize("name", RIGHT)
def test_functions_that_could_not_be_called_are_refused_at_once(name: str) -> None:
    async def too_many(one: Any, two: Any, three: Any) -> None:
        """Do nothing."""

    made = app()
    for decorate in (getattr(made, name), getattr(made, name)()):
        with pytest.raises(TypeError, match=rf"(?s)@app\.{name}.*too_many.*write.*def ") as refused:
            decorate(too_many)
        assert f"    @app.{name}\n" in str(refused.value)
    with pytest.raises(TypeError, match="got 'text'"):
        getattr(made, name)("text")


def test_parameters_the_other_way_round_are_refused() -> None:
    with pytest.raises(TypeError, match=r"(?s)the other way round.*\(request: Request, issuer"):

        @app().sign
        async def sign(issuer: Any, request: Any) -> Any:
            """Do nothing."""


def test_an_interval_is_a_timedelta() -> None:
    every: Any = 300
    with pytest.raises(TypeError, match=r"write every=timedelta\(seconds=300\)"):
        app().check(every=every)
    with pytest.raises(ValueError, match="negative"):
        app().check(every=timedelta(seconds=-1))


def test_a_class_has_both_methods() -> None:
    with pytest.raises(TypeError, match="has no method sign"):

        @app().issuer
        class Half(Issuer[Any]):  # type: ignore[type-var, call-overload, unused-ignore]
            def check(self) -> None:
                """Do nothing."""

    with pytest.raises(TypeError, match=r"async def sign\(self, request: Request\) -> Bundle:"):

        @app().issuer()
        class Odd(Issuer[Any]):  # type: ignore[type-var, arg-type, unused-ignore]
            def check(self) -> None:
                """Do nothing."""

            def sign(self) -> Any:
                """Do nothing."""


def test_a_field_without_annotation_is_refused() -> None:
    @dataclass(frozen=True)
    class Forgotten:
        url: str
        retries = 3

    with pytest.raises(TypeError, match=r"write retries: int = 3, or retries: ClassVar\[int\] = 3"):
        app(spec=Forgotten)

    @dataclass(frozen=True)
    class WithConstant:
        url: str
        retries: ClassVar[int] = 3

        @property
        def address(self) -> str:
            return self.url

    assert app(spec=WithConstant).kinds


def description(kind: type[Object] | None) -> str:
    assert kind is not None
    [version] = crd_manifest(kind)["spec"]["versions"]
    text: str = version["schema"]["openAPIV3Schema"]["description"]
    return text


def test_a_spec_without_docstring_leaves_no_python_in_the_definition() -> None:
    @dataclass(frozen=True)
    class Undocumented:
        url: str

    made = app(spec=Undocumented)
    assert "Undocumented(" not in str(made.crds())
    assert description(made.cluster_kind) == "An issuer of the kind DemoIssuer."


def test_a_kind_says_which_requests_it_does_not_answer() -> None:
    silent = "CertificateSigningRequests that name it are not answered."
    assert description(app().namespaced_kind) == f"Where the authority is. {silent}"
    assert description(app().cluster_kind) == "Where the authority is."
    assert silent not in description(app(namespaced_csrs=True).namespaced_kind)
    assert silent in description(app(kubernetes_csrs=False).cluster_kind)
    assert "CertificateRequests that name it" in description(
        app(certificate_requests=False).cluster_kind
    )


def test_a_spec_is_a_dataclass_or_a_struct() -> None:
    class Typed(Struct):
        url: str

    assert app(spec=Typed).spec.wire is Typed
    with pytest.raises(TypeError, match="use a dataclass or a msgspec Struct"):
        app(spec=dict)


@dataclass
class Looped:
    inner: "list[Looped]"


@dataclass
class Lacking:
    token: "SecretKey | None"  # type: ignore[name-defined] # noqa: F821 - that is tried


@dataclass
class Around:
    lacking: Lacking


@dataclass
class Timed:
    wait: timedelta


@dataclass
class Constant:
    """Holds one of its kind, as a constant."""

    url: str
    default: ClassVar["Constant | None"] = None


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        (Looped, "Looped contains itself"),
        (
            Lacking,
            r"Lacking\.token: SecretKey \| None: .* from certwright.issuer import SecretKey;",
        ),
        (Around, r"Lacking\.token: .* there is no SecretKey in the module .*test_declaration"),
        (Timed, r"Timed\.wait: timedelta is .*; use DurationText"),
    ],
)
def test_a_field_that_the_api_cannot_have_is_refused_at_once(spec: type, complaint: str) -> None:
    with pytest.raises(TypeError, match=complaint):
        app(spec=spec)


def test_a_constant_of_the_same_type_is_no_field() -> None:
    [kind, _] = app(spec=Constant).crds()
    [version] = kind["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert list(spec["properties"]) == ["url"]


def test_annotations_for_type_checkers_only_are_none_of_our_business() -> None:
    async def sign(request: "Elsewhere", issuer: "Elsewhere") -> "Elsewhere":  # type: ignore[name-defined] # noqa: F821
        """Do nothing."""

    made = app()
    made.sign(sign)
    assert made.operator.name == "demo-issuer"


SIGN_LINE = r"(?s)DemoIssuer: .*@app\.sign\n    async def sign\(request: Request"


def test_an_app_without_sign_does_not_run() -> None:
    with pytest.raises(IncompleteApp, match=SIGN_LINE):
        _ = app().operator


@pytest.mark.parametrize(
    "command",
    ["run", "crds", "rbac", "deploy --image x", "doctor", "conformance --issuer a.b/Demo/x"],
)
def test_no_command_runs_without_sign(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        app().main(command.split())
    told = capsys.readouterr()
    assert re.match(f"error: {SIGN_LINE.removeprefix('(?s)')}", told.err, re.DOTALL)
    assert not told.out


def test_classes_are_subclasses_of_issuer() -> None:
    with pytest.raises(TypeError, match="must be a subclass"):

        @app().issuer
        class Wrong:  # type: ignore[type-var, call-overload, unused-ignore]  # that is tried
            def check(self) -> None:
                """Do nothing."""

            def sign(self, _request: Any) -> None:
                """Do nothing."""
