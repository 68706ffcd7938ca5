"""Certificates that change while a server runs, over real TLS on this machine."""

import asyncio
import ssl
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.support.webhook import (
    DAY,
    RSA,
    Ca,
    Served,
    admission_body,
    as_files,
    config_map,
    trusting,
    write_projected,
)

from certwright import pki
from certwright.clock import SYSTEM
from certwright.kube.kinds import ConfigMap
from certwright.pki.certificates import fingerprint
from certwright.tls.certificates import TlsFiles
from certwright.tls.directory import DirectoryFollower
from certwright.webhook import AdmissionHandler, Allow, CertificateDirectory, intercept
from certwright.webhook.endpoints import AdmissionEndpoint

CHECK = AdmissionEndpoint(
    AdmissionHandler(
        "check.test.certwright.dev",
        lambda _review: Allow(),
        [intercept(ConfigMap, "CREATE")],
        path="/check",
    )
)


async def presented(served: Served, *, name: str | None = "localhost", **trust: Any) -> str:
    """Shake hands and return the fingerprint of what the server presents."""
    context = trusting(trust.get("authority", served.ca.pem), trust.get("client"))
    if name is None:
        context.check_hostname = False
    _, writer = await asyncio.open_connection(
        "127.0.0.1", served.server.port, ssl=context, server_hostname=name or ""
    )
    connection = writer.get_extra_info("ssl_object")
    der = connection.getpeercert(binary_form=True)
    assert connection.version() == "TLSv1.3"
    writer.close()
    return fingerprint(pki.read_certificate(ssl.DER_cert_to_PEM_cert(der)))


def fingerprint_of(files: TlsFiles) -> str:
    return fingerprint(pki.read_certificates(files.certificate)[0])


async def test_the_next_handshake_presents_the_new_pair_also_of_another_key_type() -> None:
    served = Served([CHECK])
    async with served.running():
        elliptic = await presented(served)
        for key in (pki.generate_key(RSA), pki.generate_key(pki.KeySpec())):
            files = served.ca.serving(key=key)
            served.certificate.offer(files)
            assert await presented(served) == await presented(served, name=None)
            assert await presented(served) == fingerprint_of(files) != elliptic


@pytest.mark.parametrize("what", ["mismatch", "expired", "early", "garbage", "client"])
async def test_the_last_good_pair_stays_when_the_new_one_is_bad(what: str) -> None:
    served = Served([CHECK])
    ca = served.ca
    other = ca.serving()
    bad = {
        "mismatch": (TlsFiles(other.certificate, ca.serving().key), "KeyMismatch"),
        "expired": (ca.serving(start=-20 * DAY), "Expired"),
        "early": (ca.serving(start=2 * DAY), "NotYetValid"),
        "garbage": (TlsFiles(b"-----BEGIN", b""), "Unreadable"),
        "client": (ca.client("not a server"), "Unfit"),
    }
    files, reason = bad[what]
    async with served.running():
        before = await presented(served)
        served.certificate.offer(files)
        served.certificate.offer(files)
        assert await presented(served) == before
        [_, check] = served.server.readiness()
        assert check.problem == ""
        assert "a newer one is not used" in check.detail
        served.certificate.offer(other)
        assert await presented(served) == fingerprint_of(other)
    name = "certwright_webhook_certificate_refused_total"
    assert served.metrics.registry.get_sample_value(name, {"reason": reason}) == 1


async def test_nothing_is_presented_before_there_is_a_good_pair() -> None:
    served = Served([CHECK], files=TlsFiles(b"", b""))
    async with served.running():
        with pytest.raises(OSError, match=r".*"):
            await presented(served)
        [_, check] = served.server.readiness()
        assert check.problem
        served.certificate.offer(served.ca.serving())
        await presented(served)


async def test_connections_of_an_earlier_pair_serve_one_more_review_and_close() -> None:
    served = Served([CHECK])
    async with served.running(), served.caller() as caller:
        await caller.review("/check")
        assert "Connection" not in caller.headers
        served.certificate.offer(served.ca.serving())
        await caller.review("/check")
        assert caller.headers["Connection"] == "close"
        await caller.review("/check")
        assert "Connection" not in caller.headers


async def test_no_review_fails_while_certificates_are_swapped() -> None:
    served = Served([CHECK])
    pairs = [served.ca.serving(key=pki.generate_key(spec)) for spec in (RSA, pki.KeySpec())]
    done = False
    reviews = 0

    async def load(caller: Any) -> None:
        nonlocal reviews
        while not done:
            assert (await caller.review("/check"))["allowed"]
            reviews += 1

    async with served.running(), served.caller() as caller, asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(load(caller))
        for number in range(10):
            served.certificate.offer(pairs[number % 2])
            seen = reviews
            while reviews < seen + 20:
                await asyncio.sleep(0)
        done = True
    assert served.count("/check", "failed") == served.count("/check", "refused") == 0
    assert served.count("/check", "allowed") == reviews >= 200


async def test_only_clients_of_the_client_authority_are_heard() -> None:
    api, foreign = Ca("api", SYSTEM.now()), Ca("foreign", SYSTEM.now())
    ca = Ca(now=SYSTEM.now())
    files = ca.serving(client_authority=api.pem)
    served = Served([CHECK], client_authority=True, files=files, clients=["kube-apiserver"])
    served.ca = ca
    async with served.running():
        async with served.caller(api.client("kube-apiserver")) as caller:
            assert (await caller.review("/check"))["allowed"]
        async with served.caller(api.client("kubelet")) as caller:
            code, answer = await caller.send("/check", admission_body())
            assert (code, answer["reason"]) == (401, "Unauthorized")
            assert "'kubelet' is not accepted" in answer["message"]
        async with served.caller() as caller:
            code, answer = await caller.send("/check", admission_body())
            assert (code, answer["message"]) == (401, "a client certificate is required")
            assert await caller.send("/livez", b"", method="GET") == (200, "ok")
        async with served.caller(foreign.client("kube-apiserver")) as caller:
            with pytest.raises((aiohttp.ClientError, OSError)):
                await caller.review("/check")
    assert served.count("/check", "allowed") == 1


async def test_another_client_authority_counts_from_the_next_handshake() -> None:
    old, new = Ca("old", SYSTEM.now()), Ca("new", SYSTEM.now())
    ca = Ca(now=SYSTEM.now())
    served = Served([CHECK], client_authority=True, files=ca.serving(client_authority=old.pem))
    served.ca = ca
    async with served.running():
        async with served.caller(old.client("api")) as caller:
            await caller.review("/check")
        served.certificate.offer(ca.serving(client_authority=new.pem))
        async with served.caller(new.client("api")) as caller:
            await caller.review("/check")
        async with served.caller(old.client("api")) as caller:
            with pytest.raises((aiohttp.ClientError, OSError)):
                await caller.review("/check")


async def test_a_session_cannot_be_resumed_past_the_current_authority() -> None:
    served = Served([CHECK])
    async with served.running():
        context = trusting(served.ca.pem)
        _, writer = await asyncio.open_connection(
            "127.0.0.1", served.server.port, ssl=context, server_hostname="localhost"
        )
        session = writer.get_extra_info("ssl_object").session
        writer.close()
    assert session is None or not session.has_ticket


async def test_a_directory_is_followed_through_the_swaps_of_kubelet(tmp_path: Path) -> None:
    served = Served([CHECK], files=TlsFiles(b"", b""))
    follower = DirectoryFollower(CertificateDirectory(tmp_path), served.certificate)
    async with served.running():
        await follower.look()
        assert served.certificate.problem == f"{tmp_path} has no tls.crt, tls.key"
        for generation in ("1", "2"):
            files = served.ca.serving()
            write_projected(tmp_path, generation, as_files(files))
            await follower.look()
            assert await presented(served) == fingerprint_of(files)
        bad = {**as_files(served.ca.serving()), "tls.key": files.key}
        write_projected(tmp_path, "3", bad)
        await follower.look()
        assert await presented(served) == fingerprint_of(files)
        assert served.certificate.reason == "KeyMismatch"


async def test_a_client_that_says_nothing_does_not_keep_the_server_from_others() -> None:
    served = Served([CHECK])
    async with served.running(), served.caller() as caller:
        silent = [await asyncio.open_connection("127.0.0.1", served.server.port) for _ in range(20)]
        assert (await caller.review("/check", config_map("b")))["allowed"]
        for _, writer in silent:
            writer.close()


async def test_an_expired_certificate_makes_it_unready() -> None:
    ca = Ca(now=SYSTEM.now())
    files = ca.serving(start=-timedelta(days=9), lifetime=9 * DAY + timedelta(hours=1))
    served = Served([CHECK], files=files)
    [_, check] = served.server.readiness()
    assert check.problem == ""
    served.certificate._clock = _Later()  # type: ignore[assignment]
    [_, check] = served.server.readiness()
    assert check.problem == "expired"


class _Later:
    def now(self) -> Any:
        return SYSTEM.now() + timedelta(hours=2)
