"""Envoys that are configured by a discovery server over mTLS."""

import json
from pathlib import Path

from tests.support.webhook import write_projected

from certwright.kube import JsonObject
from certwright.tls.certificates import TlsFiles

ADS: JsonObject = {"ads": {}, "resource_api_version": "V3"}


def write_client(folder: Path, generation: str, files: TlsFiles, trusted: bytes) -> None:
    write_projected(
        folder, generation, {"tls.crt": files.certificate, "tls.key": files.key, "ca.crt": trusted}
    )


def bootstrap(folder: Path, port: int, api: str, node: str = "gateway") -> JsonObject:
    """What injected sidecars have: the pair from files that are watched, the server checked."""
    watched = {"watched_directory": {"path": str(folder)}}
    pair = {
        "name": "pair",
        "tls_certificate": {
            "certificate_chain": {"filename": str(folder / "tls.crt")},
            "private_key": {"filename": str(folder / "tls.key")},
            **watched,
        },
    }
    trust = {
        "name": "trust",
        "validation_context": {"trusted_ca": {"filename": str(folder / "ca.crt")}, **watched},
    }
    for secret in (pair, trust):
        kind = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret"
        text = {"resources": [{"@type": kind, **secret}]}
        (folder / f"{secret['name']}.json").write_text(json.dumps(text), "utf-8")

    def sds(name: str) -> JsonObject:
        source = {"path_config_source": {"path": str(folder / f"{name}.json")}}
        return {"name": name, "sds_config": {**source, "resource_api_version": "V3"}}

    tls = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
    options = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
    address = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    return {
        "node": {"id": node, "cluster": node},
        "dynamic_resources": {
            "ads_config": {
                "api_type": api,
                "transport_api_version": "V3",
                "grpc_services": [{"envoy_grpc": {"cluster_name": "xds"}}],
            },
            "cds_config": ADS,
            "lds_config": ADS,
        },
        "static_resources": {
            "clusters": [
                {
                    "name": "xds",
                    "type": "STATIC",
                    "connect_timeout": "1s",
                    "load_assignment": {
                        "cluster_name": "xds",
                        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
                    },
                    "typed_extension_protocol_options": {
                        options: {
                            "@type": f"type.googleapis.com/{options}",
                            "explicit_http_config": {"http2_protocol_options": {}},
                        }
                    },
                    "transport_socket": {
                        "name": "envoy.transport_sockets.tls",
                        "typed_config": {
                            "@type": tls,
                            "sni": "xds.test",
                            "common_tls_context": {
                                "tls_certificate_sds_secret_configs": [sds("pair")],
                                "validation_context_sds_secret_config": sds("trust"),
                            },
                        },
                    },
                }
            ]
        },
    }
