"""Resources as users write them, which Envoy accepts."""

from certwright.kube import JsonObject

TYPES = "type.googleapis.com/"
HCM = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
ROUTER = "envoy.extensions.filters.http.router.v3.Router"
UPSTREAM_TLS = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"
ADS: JsonObject = {"ads": {}, "resource_api_version": "V3"}


def address(port: int, host: str = "127.0.0.1") -> JsonObject:
    return {"socket_address": {"address": host, "port_value": port}}


def load_assignment(name: str, port: int = 8080) -> JsonObject:
    endpoint = {"endpoint": {"address": address(port)}}
    return {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]}


def cluster(name: str, **more: object) -> JsonObject:
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "1s",
        "load_assignment": load_assignment(name),
        **more,
    }


def eds_cluster(name: str, **more: object) -> JsonObject:
    eds = {"eds_config": ADS}
    return {"name": name, "type": "EDS", "connect_timeout": "1s", "eds_cluster_config": eds, **more}


def upstream_tls(secret: str) -> JsonObject:
    configs = [{"name": secret, "sds_config": ADS}]
    return {
        "name": "envoy.transport_sockets.tls",
        "typed_config": {
            "@type": TYPES + UPSTREAM_TLS,
            "sni": "backend",
            "common_tls_context": {"tls_certificate_sds_secret_configs": configs},
        },
    }


def routes(name: str, *clusters: str) -> JsonObject:
    table = [
        {"match": {"prefix": f"/{number}" if number else "/"}, "route": {"cluster": one}}
        for number, one in enumerate(clusters)
    ]
    return {"name": name, "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": table}]}


def listener(name: str, port: int, **manager: object) -> JsonObject:
    """Return a listener for HTTP; *manager* is rds or route_config, and more."""
    router = {"name": "envoy.filters.http.router", "typed_config": {"@type": TYPES + ROUTER}}
    config = {"@type": TYPES + HCM, "stat_prefix": name, "http_filters": [router], **manager}
    filters = [{"name": "http", "typed_config": config}]
    return {"name": name, "address": address(port), "filter_chains": [{"filters": filters}]}


def rds(name: str) -> JsonObject:
    return {"route_config_name": name, "config_source": ADS}
