"""Conformance as a test class: subclass it, and every case is a test of your own.

::

    class TestMyIssuer(IssuerConformance):
        app = app
        spec = {"url": "https://ca.example.com"}
        unsupported = {Feature.DURATION: "the authority decides"}

The tests run on the ``cluster`` fixture of certwright's pytest plugin: the embedded server,
and with ``--certwright-real`` the real control plane too. A fixture of that name in the
class replaces it. An issuer that talks to its authority over a socket needs real time: mark the
class with ``@pytest.mark.real_time``.
"""

import warnings
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, ClassVar, Protocol
from unittest import SkipTest

from certwright.api.certmanager import CertificateRequest
from certwright.client import Client
from certwright.clock import Clock
from certwright.issuer.conformance.cases.features import Feature, read_unsupported
from certwright.issuer.conformance.runner import ITEMS, Item, run_item, skip_reason
from certwright.issuer.conformance.undertest import GLANCE, PATIENCE, IssuerUnderTest
from certwright.kube import JsonObject, Key, Object
from certwright.runtime import Declared

NAME = "conformance"


class App(Protocol):
    """The app under test; an `IssuerApp`."""

    @property
    def namespaced_kind(self) -> type[Object] | None:
        """The kind of issuers in a namespace."""
        ...

    @property
    def cluster_kind(self) -> type[Object] | None:
        """The kind of cluster-wide issuers."""
        ...

    def operator_in(self, namespace: str) -> Declared:
        """Return what answers requests; cluster issuers find their Secrets in the namespace."""
        ...


class ClusterFixture(Protocol):
    """What the tests need of a cluster fixture, such as the testkit's."""

    client: Client
    clock: Clock
    namespace: str

    async def serve(self, *kinds: type[Object]) -> None:
        """Install kinds that were declared in Python."""
        ...

    async def settle(self, *controllers: Declared) -> Any:
        """Start controllers and wait until they are idle."""
        ...


class IssuerConformance:
    """Every case as a test; a subclass names the issuer."""

    app: ClassVar[App]
    spec: ClassVar[JsonObject] = {}
    """The spec of the issuer under test, as in its manifest."""
    unsupported: ClassVar[Mapping[Feature, str]] = {}
    """What the authority does not do, each with the reason."""
    key_secrets: ClassVar[bool] = False
    """Whether the issuer needs the private keys, in Secrets beside the requests."""
    patience: ClassVar[timedelta] = PATIENCE
    glance: ClassVar[timedelta] = GLANCE

    async def prepare(self, cluster: Any) -> JsonObject | None:
        """Create what the issuer needs, such as Secrets; called before it is created.

        May return the spec of the issuer, in the place of `spec`: the URL of an authority that
        was started here is not known before.
        """

    def pytest_generate_tests(self, metafunc: Any) -> None:
        """Make a test of every case. What is declared wrongly fails here, and not in each."""
        if "conformance_item" in metafunc.fixturenames:
            read_unsupported(self.unsupported)
            if hasattr(self, "app"):  # else a fixture brings it
                self.app.operator_in("default")
            ids = [f"{item.suite.replace(' ', '-')}-{item.slug}" for item in ITEMS]
            metafunc.parametrize("conformance_item", ITEMS, ids=ids)

    async def test_conforms(self, cluster: ClusterFixture, conformance_item: Item) -> None:
        """Test one item."""
        subject = self._subject(cluster, conformance_item)
        if reason := skip_reason(conformance_item, subject):
            raise SkipTest(reason)
        kinds = (self.app.namespaced_kind, self.app.cluster_kind)
        await cluster.serve(CertificateRequest, *(kind for kind in kinds if kind is not None))
        spec = await self.prepare(cluster)
        await self._create(cluster, subject, self.spec if spec is None else spec)
        await cluster.settle(self.app.operator_in(cluster.namespace))
        result = await run_item(subject, conformance_item)
        if result.skipped:
            raise SkipTest(result.skipped)
        assert not result.violations, "\n".join(map(str, result.violations))
        for one in result.repaired:
            warnings.warn(f"the authority's chain was repaired: {one}", stacklevel=1)

    def _subject(self, cluster: ClusterFixture, item: Item) -> IssuerUnderTest:
        kinds = self._kinds(item)
        if not kinds:
            raise SkipTest("the app has no kind that such requests could name")
        resource = kinds[0].resource
        issuer = Key(cluster.namespace if resource.namespaced else "", NAME)
        return IssuerUnderTest(
            cluster.client,
            cluster.clock,
            issuer,
            resource,
            cluster.namespace,
            read_unsupported(self.unsupported),
            self.patience,
            self.glance,
            self.key_secrets,
        )

    def _kinds(self, item: Item) -> Sequence[type[Object]]:
        """Return the kinds to test an item with, the preferred one first."""
        wide = Feature.KUBERNETES_CSRS in item.needs
        kinds = (
            [self.app.cluster_kind] if wide else [self.app.namespaced_kind, self.app.cluster_kind]
        )
        return [kind for kind in kinds if kind is not None]

    async def _create(
        self, cluster: ClusterFixture, subject: IssuerUnderTest, spec: JsonObject
    ) -> None:
        metadata: JsonObject = {"name": subject.issuer.name}
        if subject.issuer.namespace:
            metadata["namespace"] = subject.issuer.namespace
        resource = subject.resource
        await cluster.client.create(
            {
                "apiVersion": f"{resource.group}/{resource.version}",
                "kind": resource.kind,
                "metadata": metadata,
                "spec": spec,
            }
        )
