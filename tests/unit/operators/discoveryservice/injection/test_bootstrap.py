"""The files with which Envoy starts, by what they mean."""

from typing import Any

import orjson
import pytest

from certwright.operators.discoveryservice.injection.bootstrap import (
    Bootstrap,
    SdsFile,
    bootstrap_files,
)

HOST = "marin3r-instance.infra.svc"


def read(bootstrap: Bootstrap) -> dict[str, Any]:
    return {name: orjson.loads(text) for name, text in bootstrap_files(bootstrap).items()}


def tls_of(config: Any) -> Any:
    [cluster] = config["static_resources"]["clusters"]
    return cluster["transport_socket"]["typed_config"]


def test_all_but_the_connection_comes_from_the_discovery_service() -> None:
    config = read(Bootstrap(HOST, 18001))["config.json"]
    [cluster] = config["static_resources"]["clusters"]
    dynamic = config["dynamic_resources"]
    [service] = dynamic["ads_config"]["grpc_services"]
    assert service["envoy_grpc"]["cluster_name"] == cluster["name"] == "xds_cluster"
    ads = {"ads": {}, "resource_api_version": "V3"}
    assert (dynamic["cds_config"], dynamic["lds_config"]) == (ads, ads)
    [layer] = config["layered_runtime"]["layers"]
    assert layer["rtds_layer"] == {"name": "runtime", "rtds_config": ads}
    [[endpoint]] = [one["lb_endpoints"] for one in cluster["load_assignment"]["endpoints"]]
    socket = endpoint["endpoint"]["address"]["socket_address"]
    assert socket == {"address": HOST, "port_value": 18001}
    assert cluster["type"] == "STRICT_DNS"
    assert config["admin"]["address"]["socket_address"]["port_value"] == 9901


def test_envoy_authenticates_the_server() -> None:
    tls = tls_of(read(Bootstrap(HOST))["config.json"])
    assert tls["sni"] == HOST
    trusted = tls["common_tls_context"]["combined_validation_context"]
    [name] = trusted["default_validation_context"]["match_typed_subject_alt_names"]
    assert name == {"san_type": "DNS", "matcher": {"exact": HOST}}
    assert trusted["validation_context_sds_secret_config"]["name"] == "xds_server_ca"


@pytest.mark.scenario("DS-10")
@pytest.mark.parametrize("sds_file", SdsFile)
def test_files_of_secrets_exist_and_are_called_as_in_the_config(sds_file: SdsFile) -> None:
    files = read(Bootstrap(HOST, sds_file=sds_file))
    context = tls_of(files["config.json"])["common_tls_context"]
    [client] = context["tls_certificate_sds_secret_configs"]
    authority = context["combined_validation_context"]["validation_context_sds_secret_config"]
    assert len(files) == 3
    for sds in (client, authority):
        path = sds["sds_config"]["path_config_source"]["path"]
        directory, _, file = path.rpartition("/")
        assert directory == "/etc/envoy/bootstrap"
        [secret] = files[file]["resources"]
        assert secret["name"] == sds["name"], "Envoy would refuse the secret"
    assert sds_file.value in files


def test_certificates_are_read_from_the_client_directory() -> None:
    files = read(Bootstrap(HOST, certificates="/tls"))
    [client] = files[SdsFile.JSON.value]["resources"]
    [authority] = files["tls_validation_context_sds_secret.json"]["resources"]
    assert client["tls_certificate"] == {
        "certificate_chain": {"filename": "/tls/tls.crt"},
        "private_key": {"filename": "/tls/tls.key"},
    }
    assert authority["validation_context"] == {"trusted_ca": {"filename": "/tls/ca.crt"}}
