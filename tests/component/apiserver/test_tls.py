"""The server over TLS: who gets in, and what goes over the wire."""

import io
import json
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from certwright.apiserver import ApiServer, Endpoint, UserInfo
from certwright.apiserver.http.certs import TestAuthority
from certwright.apiserver.http.kubeconfig import kubeconfig_with_certificate
from certwright.client import TransportError, connect
from certwright.kube import Forbidden, JsonObject
from certwright.kube.kinds import Secret


@pytest.fixture
async def endpoint() -> AsyncIterator[tuple[ApiServer, Endpoint]]:
    server = ApiServer(namespace_defaults=True)
    async with server.serve() as endpoint:
        yield server, endpoint


@pytest.fixture
async def session(endpoint: tuple[ApiServer, Endpoint]) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cadata=endpoint[1].authority.decode())
    async with aiohttp.ClientSession(
        endpoint[1].url, connector=aiohttp.TCPConnector(ssl=context)
    ) as session:
        yield session


def bearer(token: str) -> JsonObject:
    return {"Authorization": f"Bearer {token}"}


async def test_a_token_of_another_server_is_worth_nothing(session: aiohttp.ClientSession) -> None:
    for path in ("/api/v1/namespaces", "/version"):
        async with session.get(path, headers=bearer("guess")) as answer:
            assert answer.status == 401
            assert (await answer.json())["reason"] == "Unauthorized"


async def test_requests_without_credentials_are_anonymous(session: aiohttp.ClientSession) -> None:
    for headers in ({}, bearer(""), {"Authorization": "Basic YTpi"}):
        async with session.get("/api/v1/namespaces", headers=headers) as answer:
            assert answer.status == 403
            assert 'User "system:anonymous" cannot list' in (await answer.json())["message"]
        async with session.get("/version", headers=headers) as answer:
            assert answer.status == 200


async def test_without_roles_there_are_no_anonymous_requests() -> None:
    async with ApiServer(rbac=False).serve() as endpoint:
        context = ssl.create_default_context(cadata=endpoint.authority.decode())
        async with (
            aiohttp.ClientSession(endpoint.url) as session,
            session.get("/version", ssl=context) as answer,
        ):
            assert answer.status == 401


async def test_a_client_certificate_stands_for_its_user(
    endpoint: tuple[ApiServer, Endpoint], tmp_path: Path
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(endpoint[1].kubeconfig(UserInfo("jane", ("devs", "staff"))), "utf-8")
    async with connect(kubeconfig=file) as client:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        answer = await client.create(review)
        with pytest.raises(Forbidden, match='User "jane" cannot list resource "secrets"'):
            await client.list(Secret)
    groups = ["devs", "staff", "system:authenticated"]
    assert answer["status"]["userInfo"] == {"username": "jane", "groups": groups}


async def test_the_certificate_of_a_master_opens_everything(
    endpoint: tuple[ApiServer, Endpoint], tmp_path: Path
) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(endpoint[1].kubeconfig(UserInfo("root", ("system:masters",))), "utf-8")
    async with connect(kubeconfig=file) as client:
        assert (await client.list(Secret)).items == []


async def test_a_certificate_of_another_authority_is_refused(
    endpoint: tuple[ApiServer, Endpoint], tmp_path: Path
) -> None:
    other = TestAuthority("other", datetime.now(UTC)).client("root", ["system:masters"])
    ours = endpoint[1]
    file = tmp_path / "kubeconfig"
    file.write_text(kubeconfig_with_certificate(ours.url, ours.authority, other), "utf-8")
    async with connect(kubeconfig=file) as client:
        with pytest.raises(TransportError):
            await client.list(Secret)


async def test_the_certificate_is_not_one_anybody_trusts(
    endpoint: tuple[ApiServer, Endpoint],
) -> None:
    async with aiohttp.ClientSession() as stranger:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await stranger.get(endpoint[1].url)


async def test_a_token_stands_for_its_user(
    session: aiohttp.ClientSession, endpoint: tuple[ApiServer, Endpoint]
) -> None:
    server, _ = endpoint
    token = server.token(UserInfo("jane", ("system:authenticated",)))

    async with session.get("/api/v1/namespaces", headers=bearer(token)) as answer:
        assert answer.status == 403
        assert 'User "jane"' in (await answer.json())["message"]


async def test_a_service_account_uses_its_token(
    session: aiohttp.ClientSession, endpoint: tuple[ApiServer, Endpoint]
) -> None:
    admin = bearer(endpoint[1].token)
    path = "/api/v1/namespaces/default/serviceaccounts/default"
    async with session.post(f"{path}/token", headers=admin, json={"spec": {}}) as answer:
        assert answer.status == 201
        token = (await answer.json())["status"]["token"]

    async def who() -> tuple[int, JsonObject]:
        review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        async with session.post(review, headers=bearer(token), json={}) as answer:
            return answer.status, await answer.json()

    status, body = await who()
    assert status == 201
    assert body["status"]["userInfo"]["username"] == "system:serviceaccount:default:default"
    await (await session.delete(path, headers=admin)).release()
    assert (await who())[0] == 401, "the account is gone"


async def test_the_certificate_is_published(
    session: aiohttp.ClientSession, endpoint: tuple[ApiServer, Endpoint]
) -> None:
    path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt"
    async with session.get(path, headers=bearer(endpoint[1].token)) as answer:
        assert (await answer.json())["data"]["ca.crt"] == endpoint[1].authority.decode()


async def test_a_watch_streams(
    session: aiohttp.ClientSession, endpoint: tuple[ApiServer, Endpoint]
) -> None:
    admin = bearer(endpoint[1].token)
    path = "/api/v1/namespaces/default/configmaps"
    query = {"watch": "true", "fieldSelector": "metadata.name=a"}
    async with session.get(path, headers=admin, params=query) as watch:
        assert watch.status == 200
        await (await session.post(path, headers=admin, json={"metadata": {"name": "a"}})).release()
        event = json.loads(await watch.content.readline())

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")


async def test_refused_watches_have_a_status(
    session: aiohttp.ClientSession, endpoint: tuple[ApiServer, Endpoint]
) -> None:
    admin = bearer(endpoint[1].token)
    query = {"watch": "true", "sendInitialEvents": "true"}
    async with session.get("/api/v1/configmaps", headers=admin, params=query) as answer:
        assert answer.status == 422


async def test_bodies_are_bounded(
    session: aiohttp.ClientSession, endpoint: tuple[ApiServer, Endpoint]
) -> None:
    body = b'{"a":"' + b"x" * (4 * 1024 * 1024) + b'"}'
    path = "/api/v1/namespaces/default/configmaps"
    async with session.post(
        path, headers=bearer(endpoint[1].token), data=io.BytesIO(body)
    ) as answer:
        assert answer.status == 413


async def test_the_kubeconfig_is_for_its_owner_only(
    endpoint: tuple[ApiServer, Endpoint], tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    path.touch(mode=0o644)

    endpoint[1].write_kubeconfig(path)

    assert path.stat().st_mode & 0o777 == 0o600
    assert endpoint[1].token in path.read_text()
    assert endpoint[1].token not in repr(endpoint[1])
