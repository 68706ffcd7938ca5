"""The files with which the Envoys of a namespace start.

Envoy shows a certificate of its namespace and accepts only a server with a certificate of the
DiscoveryService's authority for exactly the name it connected to. Both come from files that Envoy
watches, so that they can change while it runs: `SdsFile` are names of small files which say where
the certificates are.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import orjson

from certwright.kube import JsonObject
from certwright.operators.discoveryservice.injection.sidecar import (
    BOOTSTRAP_DIRECTORY,
    CERTIFICATE_DIRECTORY,
    CONFIG_FILE,
)

CLUSTER: Final = "xds_cluster"
RUNTIME: Final = "runtime"
CLIENT_CERTIFICATE: Final = "xds_client_certificate"
SERVER_AUTHORITY: Final = "xds_server_ca"
AUTHORITY_FILE: Final = "tls_validation_context_sds_secret.json"

_TYPES: Final = "type.googleapis.com/envoy.extensions."
_TLS: Final = f"{_TYPES}transport_sockets.tls.v3."
_HTTP: Final = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
_ADS: Final[JsonObject] = {"ads": {}, "resource_api_version": "V3"}


class SdsFile(Enum):
    """What the file is called that says where the client certificate is."""

    JSON = "tls_certificate_sds_secret.json"
    YAML = "tls_certificate_sds_secret.yaml"
    """As the first releases called it, though it holds JSON."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How an Envoy reaches its discovery service."""

    host: str
    """Of the Service, as the server's certificate names it: ``<service>.<namespace>.svc``."""
    port: int = 18000
    admin_address: str = "0.0.0.0"  # noqa: S104 - in a Pod
    admin_port: int = 9901
    directory: str = BOOTSTRAP_DIRECTORY
    certificates: str = CERTIFICATE_DIRECTORY
    sds_file: SdsFile = SdsFile.JSON


def bootstrap_files(bootstrap: Bootstrap) -> dict[str, str]:
    """Return the files by name, as the ConfigMap of a namespace holds them."""
    return {
        CONFIG_FILE: _text(config(bootstrap)),
        bootstrap.sds_file.value: _text(client_certificate(bootstrap)),
        AUTHORITY_FILE: _text(server_authority(bootstrap)),
    }


def config(bootstrap: Bootstrap) -> JsonObject:
    """Return the main file: all but the connection to the discovery service comes from there."""
    admin = _address(bootstrap.admin_address, bootstrap.admin_port)
    return {
        "admin": {"address": admin},
        "dynamic_resources": {
            "ads_config": {
                "api_type": "GRPC",
                "transport_api_version": "V3",
                "grpc_services": [{"envoy_grpc": {"cluster_name": CLUSTER}}],
            },
            "cds_config": _ADS,
            "lds_config": _ADS,
        },
        "layered_runtime": {
            "layers": [
                {"name": RUNTIME, "rtds_layer": {"name": RUNTIME, "rtds_config": _ADS}},
            ]
        },
        "static_resources": {"clusters": [_cluster(bootstrap)]},
    }


def client_certificate(bootstrap: Bootstrap) -> JsonObject:
    """Return the file that says where the client certificate is."""
    certificate = {
        "certificate_chain": {"filename": f"{bootstrap.certificates}/tls.crt"},
        "private_key": {"filename": f"{bootstrap.certificates}/tls.key"},
    }
    return _secret(CLIENT_CERTIFICATE, {"tls_certificate": certificate})


def server_authority(bootstrap: Bootstrap) -> JsonObject:
    """Return the file that says where the authorities of the server are."""
    trusted = {"trusted_ca": {"filename": f"{bootstrap.certificates}/ca.crt"}}
    return _secret(SERVER_AUTHORITY, {"validation_context": trusted})


def _cluster(bootstrap: Bootstrap) -> JsonObject:
    endpoint = {"endpoint": {"address": _address(bootstrap.host, bootstrap.port)}}
    keepalive = {"interval": "60s", "timeout": "10s"}
    return {
        "name": CLUSTER,
        "type": "STRICT_DNS",
        "connect_timeout": "1s",
        "load_assignment": {
            "cluster_name": CLUSTER,
            "endpoints": [{"lb_endpoints": [endpoint]}],
        },
        "typed_extension_protocol_options": {
            _HTTP: {
                "@type": f"type.googleapis.com/{_HTTP}",
                "explicit_http_config": {
                    "http2_protocol_options": {"connection_keepalive": keepalive}
                },
            }
        },
        "transport_socket": {
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": f"{_TLS}UpstreamTlsContext",
                "sni": bootstrap.host,
                "common_tls_context": _tls_context(bootstrap),
            },
        },
    }


def _tls_context(bootstrap: Bootstrap) -> JsonObject:
    name = {"san_type": "DNS", "matcher": {"exact": bootstrap.host}}
    return {
        "tls_certificate_sds_secret_configs": [
            _sds(CLIENT_CERTIFICATE, bootstrap, bootstrap.sds_file.value)
        ],
        "combined_validation_context": {
            "default_validation_context": {"match_typed_subject_alt_names": [name]},
            "validation_context_sds_secret_config": _sds(
                SERVER_AUTHORITY, bootstrap, AUTHORITY_FILE
            ),
        },
    }


def _sds(name: str, bootstrap: Bootstrap, file: str) -> JsonObject:
    source = {"path_config_source": {"path": f"{bootstrap.directory}/{file}"}}
    return {"name": name, "sds_config": {**source, "resource_api_version": "V3"}}


def _secret(name: str, content: JsonObject) -> JsonObject:
    return {"resources": [{"@type": f"{_TLS}Secret", "name": name, **content}]}


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}


def _text(content: JsonObject) -> str:
    return orjson.dumps(content, option=orjson.OPT_INDENT_2).decode()
