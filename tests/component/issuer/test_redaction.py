"""What an author's code blurts out about its credentials reaches nobody."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.support.issuer.issuer_world import World

from certwright.api.certmanager import CertificateRequest
from certwright.issuer import (
    IssuerUnavailable,
    Pending,
    Permanent,
    SecretData,
    SecretKey,
    WithCondition,
)
from certwright.testkit import Cluster

TOKEN = "hunter2-swordfish"
KEY = "-----no PEM-----opensesame"


@dataclass(frozen=True)
class Spec:
    """A spec with credentials."""

    token: SecretKey
    more: SecretData


async def blurting(cluster: Cluster) -> World:
    w = World(cluster, spec=Spec)
    data = {"token": TOKEN, "key": KEY}
    await cluster.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "c"}, "stringData": data}
    )
    kind = w.namespaced_kind.resource
    await cluster.install(*w.app.crds())
    await cluster.create(
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": {"name": "issuer-1"},
            "spec": {"token": {"name": "c", "key": "token"}, "more": {"name": "c"}},
        }
    )
    return w


@pytest.mark.parametrize("secret", [TOKEN, KEY])
@pytest.mark.parametrize(
    "verb",
    [
        ValueError,
        Permanent,
        Pending,
        IssuerUnavailable,
        lambda text: WithCondition("Told", "True", "Told", ValueError(text)),
    ],
    ids=["any", "permanent", "pending", "issuer", "condition"],
)
async def test_credentials_in_what_sign_raises_reach_nobody(
    cluster: Cluster,
    capsys: pytest.CaptureFixture[str],
    verb: Callable[..., Any] | type[Exception],
    secret: str,
) -> None:
    w = await blurting(cluster)
    w.script.signs[:] = [verb(f"illegal header value b'{secret}'")]
    await w.request()
    await w.settle()
    assert w.script.sign_calls
    seen = [
        await cluster.get(CertificateRequest.resource, "cr1"),
        await cluster.get(w.namespaced_kind.resource, "issuer-1"),
        await w.events(),
        await w.events("issuer-1"),
        capsys.readouterr().out,
    ]
    assert "illegal header value" in str(seen)
    assert secret not in str(seen)


async def test_credentials_in_what_check_raises_reach_nobody(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    w = await blurting(cluster)
    w.script.always_check = ValueError(f"illegal header value b'{TOKEN}'")
    await w.settle()
    seen = [
        await cluster.get(w.namespaced_kind.resource, "issuer-1"),
        await w.events("issuer-1"),
        capsys.readouterr().out,
    ]
    assert "illegal header value" in str(seen)
    assert TOKEN not in str(seen)
