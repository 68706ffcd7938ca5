"""CertificateSigningRequests: who asked, who decides, who signs."""

import base64

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.component.apiserver.conftest import Answer, Api, SetClock

from certwright.apiserver import ApiServer, UserInfo

PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@pytest.fixture
def server(clock: SetClock) -> ApiServer:
    return ApiServer(clock=clock, rbac=False)


@pytest.fixture
def request_path(api_of: type[Api], server: ApiServer, pem: bytes) -> str:
    jane = api_of(server, UserInfo("jane", ("devs",)))
    spec = {
        "request": base64.b64encode(pem).decode(),
        "signerName": "example.com/signer",
        "usages": ["client auth"],
        "username": "somebody else",
    }
    created = jane.create(PATH, {"metadata": {"name": "r"}, "spec": spec})
    assert created.status == 201, created.body
    return f"{PATH}/r"


@pytest.fixture(scope="module")
def pem() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "jane")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM)


def approve(api: Api, path: str) -> Answer:
    body = api.get(path).body
    condition = {"type": "Approved", "status": "True", "reason": "Test", "message": "yes"}
    return api.replace(f"{path}/approval", {**body, "status": {"conditions": [condition]}})


def test_the_requestor_is_the_caller(api: Api, request_path: str) -> None:
    spec = api.get(request_path).body["spec"]

    assert spec["username"] == "jane"
    assert spec["groups"] == ["devs"]


def test_approval_is_dated(api: Api, request_path: str) -> None:
    (condition,) = approve(api, request_path).body["status"]["conditions"]

    assert condition["type"] == "Approved"
    assert condition["lastUpdateTime"] == condition["lastTransitionTime"] == "2030-01-02T03:04:05Z"


def test_the_signer_cannot_take_the_verdict_back(api: Api, request_path: str) -> None:
    approve(api, request_path)

    status = api.merge(f"{request_path}/status", {"status": {"conditions": None}}).body["status"]

    assert [each["type"] for each in status["conditions"]] == ["Approved"]


def test_nothing_changes_through_the_request_itself(api: Api, request_path: str) -> None:
    condition = {"type": "Approved", "status": "True"}
    patch = {"spec": {"signerName": "example.com/other"}, "status": {"conditions": [condition]}}

    body = api.merge(request_path, patch).body

    assert body["spec"]["signerName"] == "example.com/signer"
    assert "conditions" not in body.get("status", {})
