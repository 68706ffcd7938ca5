"""Authors who use a type checker are told about their mistakes by it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import certwright

OPTIONS = ("--strict", "--follow-imports", "silent")
PROGRAM = """
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

import aiohttp

from certwright.issuer import Bundle, Issuer, IssuerApp, IssuerUnavailable, Permanent, Request, SecretKey


@dataclass(frozen=True)
class Spec:
    url: str
    token: SecretKey


app = IssuerApp(group="pki.example.com", kind="DemoIssuer", spec=Spec)


@app.check(every=timedelta(minutes=5))
async def check(issuer: Issuer[Spec]) -> None:
    async with aiohttp.ClientSession() as http, http.get(issuer.spec.url + "/health") as answer:
        answer.raise_for_status()


@app.sign
async def sign(request: Request, issuer: Issuer[Spec]) -> Bundle:
    headers = {"Authorization": issuer.spec.token}
    body = {"csr": request.csr_pem, "ttl": request.duration.total_seconds(), "id": request.uid}
    async with aiohttp.ClientSession(headers=headers) as http:
        async with http.post(issuer.spec.url + "/sign", json=body) as answer:
            if answer.status == 401:
                raise IssuerUnavailable("token refused")
            if answer.status == 422:
                raise Permanent(await answer.text())
            answer.raise_for_status()
            return Bundle.from_pem(await answer.text())


sync_app = IssuerApp(group="pki.example.com", kind="SyncIssuer", spec=Spec)


@sync_app.check()
def check_now(issuer: Issuer[Spec]) -> None:
    quote(issuer.spec.url)


@sync_app.sign
def sign_now(request: Request, issuer: Issuer[Spec]) -> Bundle:
    return Bundle.from_pem(request.csr_pem + issuer.spec.url)


class_app = IssuerApp(group="pki.example.com", kind="ClassIssuer", spec=Spec)


@class_app.issuer
class Demo(Issuer[Spec]):
    def check(self) -> None:
        quote(self.spec.url)

    async def sign(self, request: Request) -> Bundle:
        return Bundle.from_pem(request.csr_pem)


if __name__ == "__main__":
    app.main()
"""

MISTAKES = {
    "wrong result": (
        "async def sign(request: Request, issuer: Issuer[Spec]) -> Bundle:",
        "async def sign(request: Request, issuer: Issuer[Spec]) -> str:",
    ),
    "wrong result of a sync function": (
        "def sign_now(request: Request, issuer: Issuer[Spec]) -> Bundle:",
        "def sign_now(request: Request, issuer: Issuer[Spec]) -> bytes:",
    ),
    "wrong result of a method": (
        "async def sign(self, request: Request) -> Bundle:",
        "async def sign(self, request: Request) -> bytes:",
    ),
    "another spec": (
        "async def check(issuer: Issuer[Spec])",
        "async def check(issuer: Issuer[int])",
    ),
    "no such field": ("issuer.spec.token", "issuer.spec.tocken"),
}


@pytest.mark.scenario("ISS-102")
@pytest.mark.timeout(180)
def test_the_program_is_accepted_and_each_mistake_is_not(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "good.py").write_text(PROGRAM, "utf-8")
    for number, (right, wrong) in enumerate(MISTAKES.values()):
        assert right in PROGRAM
        (tmp_path / f"bad{number}.py").write_text(PROGRAM.replace(right, wrong), "utf-8")
    programs = sorted(path.name for path in tmp_path.iterdir())
    cache = request.config.rootpath / ".cache" / "mypy"  # kept: what is imported stays the same
    ended = subprocess.run(
        [sys.executable, "-m", "mypy", *OPTIONS, "--cache-dir", str(cache), *programs],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(Path(certwright.__file__).parents[1])},
    )
    complaints = [line for line in ended.stdout.splitlines() if ": error: " in line]
    blamed = {line.partition(":")[0] for line in complaints}
    assert blamed == {f"bad{number}.py" for number in range(len(MISTAKES))}, ended.stdout
