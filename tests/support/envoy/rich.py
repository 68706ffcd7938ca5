"""Large resources: many parts of Envoy's configuration at once, accepted as they are."""

from certwright.kube import JsonObject

T = "type.googleapis.com/envoy."


def _address(port: int = 80, host: str = "127.0.0.1") -> JsonObject:
    return {"socket_address": {"address": host, "port_value": port}}


def rich_cluster() -> JsonObject:
    http: JsonObject = {"@type": f"{T}extensions.upstreams.http.v3.HttpProtocolOptions"}
    http |= {
        "common_http_protocol_options": {"idle_timeout": "60s", "max_headers_count": 50},
        "explicit_http_config": {
            "http2_protocol_options": {
                "max_concurrent_streams": 100,
                "initial_stream_window_size": 65535,
                "initial_connection_window_size": 65535,
                "hpack_table_size": 4096,
                "connection_keepalive": {"interval": "30s", "timeout": "5s"},
            }
        },
    }
    return {
        "name": "rich",
        "alt_stat_name": "rich",
        "type": "STRICT_DNS",
        "connect_timeout": "1s",
        "per_connection_buffer_limit_bytes": 32768,
        "lb_policy": "ROUND_ROBIN",
        "dns_refresh_rate": "5s",
        "dns_failure_refresh_rate": {"base_interval": "2s", "max_interval": "10s"},
        "cleanup_interval": "5s",
        "wait_for_warm_on_init": False,
        "load_assignment": {
            "cluster_name": "rich",
            "policy": {
                "overprovisioning_factor": 140,
                "endpoint_stale_after": "30s",
                "drop_overloads": [
                    {"category": "x", "drop_percentage": {"numerator": 1, "denominator": "HUNDRED"}}
                ],
            },
            "endpoints": [
                {
                    "priority": 0,
                    "load_balancing_weight": 2,
                    "locality": {"region": "r", "zone": "z"},
                    "lb_endpoints": [
                        {
                            "endpoint": {
                                "address": _address(8080),
                                "health_check_config": {"port_value": 8081},
                            },
                            "load_balancing_weight": 3,
                            "health_status": "HEALTHY",
                        }
                    ],
                }
            ],
        },
        "health_checks": [
            {
                "timeout": "1s",
                "interval": "60s",
                "initial_jitter": "1s",
                "unhealthy_threshold": 3,
                "healthy_threshold": 2,
                "no_traffic_interval": "60s",
                "http_health_check": {
                    "path": "/health",
                    "host": "h",
                    "request_headers_to_add": [{"header": {"key": "x-a", "value": "b"}}],
                    "request_headers_to_remove": ["x-b"],
                    "expected_statuses": [{"start": 200, "end": 300}],
                },
            }
        ],
        "circuit_breakers": {
            "thresholds": [
                {
                    "priority": "DEFAULT",
                    "max_connections": 10,
                    "retry_budget": {"budget_percent": {"value": 20}, "min_retry_concurrency": 3},
                }
            ]
        },
        "outlier_detection": {
            "consecutive_5xx": 5,
            "interval": "10s",
            "base_ejection_time": "30s",
            "max_ejection_percent": 10,
            "enforcing_consecutive_5xx": 100,
            "enforcing_success_rate": 100,
            "success_rate_minimum_hosts": 5,
        },
        "common_lb_config": {
            "healthy_panic_threshold": {"value": 50},
            "update_merge_window": "1s",
            "zone_aware_lb_config": {"routing_enabled": {"value": 100}, "min_cluster_size": 6},
        },
        "upstream_connection_options": {
            "tcp_keepalive": {"keepalive_probes": 3, "keepalive_time": 30}
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": http
        },
        "transport_socket": {
            "name": "envoy.transport_sockets.tls",
            "typed_config": {
                "@type": f"{T}extensions.transport_sockets.tls.v3.UpstreamTlsContext",
                "sni": "rich",
                "max_session_keys": 1,
                "common_tls_context": {
                    "alpn_protocols": ["h2"],
                    "tls_params": {"tls_minimum_protocol_version": "TLSv1_2"},
                },
            },
        },
        "track_cluster_stats": {"timeout_budgets": True},
        "preconnect_policy": {"per_upstream_preconnect_ratio": 1.5},
        "upstream_bind_config": {"source_address": {"address": "127.0.0.1", "port_value": 0}},
    }


def _route(number: int, **action: object) -> JsonObject:
    return {
        "name": f"r{number}",
        "match": {
            "prefix": f"/{number}",
            "headers": [
                {"name": "x-h", "string_match": {"exact": "v"}},
                {"name": "x-n", "range_match": {"start": 1, "end": 9}},
            ],
            "query_parameters": [{"name": "q", "present_match": True}],
            "runtime_fraction": {"default_value": {"numerator": 100, "denominator": "HUNDRED"}},
        },
        "decorator": {"operation": "op"},
        "request_headers_to_add": [{"header": {"key": "x-a", "value": "%PROTOCOL%"}}],
        "request_headers_to_remove": ["x-r"],
        "response_headers_to_add": [{"header": {"key": "x-b", "value": "c"}}],
        **action,
    }


def _routes() -> JsonObject:
    forward = {
        "weighted_clusters": {
            "clusters": [
                {
                    "name": "xds",
                    "weight": 100,
                    "request_headers_to_add": [{"header": {"key": "x-w", "value": "d"}}],
                }
            ],
        },
        "timeout": "3s",
        "prefix_rewrite": "/",
        "host_rewrite_literal": "h",
        "priority": "HIGH",
        "retry_policy": {
            "retry_on": "5xx",
            "num_retries": 2,
            "per_try_timeout": "1s",
            "retry_back_off": {"base_interval": "0.1s", "max_interval": "1s"},
            "retriable_headers": [{"name": "x-retry", "present_match": True}],
            "retry_host_predicate": [
                {
                    "name": "envoy.retry_host_predicates.previous_hosts",
                    "typed_config": {
                        "@type": f"{T}extensions.retry.host.previous_hosts.v3.PreviousHostsPredicate"
                    },
                }
            ],
        },
        "hash_policy": [
            {"header": {"header_name": "x-user"}},
            {"cookie": {"name": "c", "ttl": "10s", "path": "/"}},
        ],
        "rate_limits": [
            {
                "actions": [
                    {"request_headers": {"header_name": "x-u", "descriptor_key": "user"}},
                    {"generic_key": {"descriptor_value": "v"}},
                ]
            }
        ],
        "max_stream_duration": {"max_stream_duration": "60s"},
        "upgrade_configs": [{"upgrade_type": "websocket"}],
    }
    redirect = {"host_redirect": "example.com", "response_code": "FOUND", "path_redirect": "/x"}
    answer = {"status": 200, "body": {"inline_string": "ok"}}
    return {
        "name": "routes",
        "validate_clusters": False,
        "internal_only_headers": ["x-internal"],
        "response_headers_to_remove": ["x-rm"],
        "max_direct_response_body_size_bytes": 4096,
        "virtual_hosts": [
            {
                "name": "all",
                "domains": ["*"],
                "require_tls": "NONE",
                "retry_policy": {"retry_on": "5xx", "retry_back_off": {"base_interval": "0.1s"}},
                "request_headers_to_add": [{"header": {"key": "x-v", "value": "e"}}],
                "virtual_clusters": [
                    {"name": "vc", "headers": [{"name": ":path", "string_match": {"prefix": "/"}}]}
                ],
                "routes": [
                    _route(1, route=forward),
                    _route(2, redirect=redirect),
                    _route(3, direct_response=answer),
                ],
            }
        ],
    }


def _filters() -> list[JsonObject]:
    def one(name: str, kind: str, **config: object) -> JsonObject:
        typed = {"@type": f"{T}extensions.filters.http.{kind}", **config}
        return {"name": f"envoy.filters.http.{name}", "typed_config": typed}

    percent = {"numerator": 50, "denominator": "HUNDRED"}
    return [
        one("cors", "cors.v3.Cors"),
        one("health_check", "health_check.v3.HealthCheck", pass_through_mode=False,
            headers=[{"name": ":path", "string_match": {"exact": "/hc"}}]),
        one("buffer", "buffer.v3.Buffer", max_request_bytes=4096),
        one("fault", "fault.v3.HTTPFault",
            delay={"fixed_delay": "1s", "percentage": percent},
            abort={"http_status": 503, "percentage": percent},
            headers=[{"name": "x-fault", "present_match": True}], max_active_faults=3),
        one("local_ratelimit", "local_ratelimit.v3.LocalRateLimit", stat_prefix="lr",
            token_bucket={"max_tokens": 10, "tokens_per_fill": 5, "fill_interval": "1s"},
            filter_enabled={"runtime_key": "k", "default_value": percent},
            filter_enforced={"runtime_key": "k", "default_value": percent},
            response_headers_to_add=[{"header": {"key": "x-l", "value": "f"}}]),
        one("rbac", "rbac.v3.RBAC", rules={"action": "ALLOW", "policies": {"p": {
            "permissions": [{"header": {"name": "x-p", "string_match": {"exact": "g"}}},
                            {"destination_port": 80}],
            "principals": [{"any": True}]}}}),
        one("header_to_metadata", "header_to_metadata.v3.Config", request_rules=[
            {"header": "x-m", "on_header_present": {"key": "k", "type": "STRING"}}]),
        one("lua", "lua.v3.Lua", default_source_code={"inline_string": "function envoy_on_request(h) end"}),
        one("grpc_web", "grpc_web.v3.GrpcWeb"),
        one("csrf", "csrf.v3.CsrfPolicy", filter_enabled={"default_value": percent},
            additional_origins=[{"exact": "example.com"}]),
        one("bandwidth_limit", "bandwidth_limit.v3.BandwidthLimit", stat_prefix="bw",
            limit_kbps=10, fill_interval="0.1s", enable_mode="REQUEST"),
        one("admission_control", "admission_control.v3.AdmissionControl",
            success_criteria={"http_criteria": {"http_success_status": [{"start": 200, "end": 300}]}},
            sampling_window="30s"),
        one("router", "router.v3.Router", strict_check_headers=["x-envoy-max-retries"]),
    ]  # fmt: skip


def rich_listener(port: int) -> JsonObject:
    manager = {
        "@type": f"{T}extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "rich",
        "codec_type": "AUTO",
        "route_config": _routes(),
        "http_filters": _filters(),
        "server_name": "me",
        "max_request_headers_kb": 64,
        "stream_idle_timeout": "60s",
        "request_timeout": "30s",
        "drain_timeout": "5s",
        "delayed_close_timeout": "1s",
        "forward_client_cert_details": "SANITIZE",
        "server_header_transformation": "OVERWRITE",
        "common_http_protocol_options": {"idle_timeout": "60s", "max_headers_count": 100},
        "http2_protocol_options": {
            "max_concurrent_streams": 100,
            "initial_stream_window_size": 65535,
            "max_outbound_frames": 1000,
        },
        "access_log": [
            {
                "name": "file",
                "filter": {
                    "status_code_filter": {
                        "comparison": {
                            "op": "GE",
                            "value": {"default_value": 500, "runtime_key": "k"},
                        }
                    }
                },
                "typed_config": {
                    "@type": f"{T}extensions.access_loggers.file.v3.FileAccessLog",
                    "path": "/dev/null",
                },
            }
        ],
        "local_reply_config": {
            "mappers": [
                {
                    "filter": {"response_flag_filter": {"flags": ["NR"]}},
                    "status_code": 404,
                    "headers_to_add": [{"header": {"key": "x-lr", "value": "h"}}],
                }
            ]
        },
        "upgrade_configs": [{"upgrade_type": "websocket"}],
        "path_normalization_options": {},
    }
    return {
        "name": "rich",
        "address": _address(port),
        "per_connection_buffer_limit_bytes": 32768,
        "listener_filters_timeout": "5s",
        "tcp_backlog_size": 100,
        "filter_chains": [
            {
                "name": "chain",
                "filter_chain_match": {
                    "prefix_ranges": [{"address_prefix": "10.0.0.0", "prefix_len": 8}],
                    "source_ports": [1000],
                },
                "transport_socket_connect_timeout": "5s",
                "filters": [{"name": "http", "typed_config": manager}],
            },
            {
                "name": "tcp",
                "filters": [
                    {
                        "name": "envoy.filters.network.connection_limit",
                        "typed_config": {
                            "@type": f"{T}extensions.filters.network.connection_limit.v3.ConnectionLimit",
                            "stat_prefix": "cl",
                            "max_connections": 10,
                            "delay": "0.1s",
                        },
                    },
                    {
                        "name": "envoy.filters.network.local_ratelimit",
                        "typed_config": {
                            "@type": f"{T}extensions.filters.network.local_ratelimit.v3.LocalRateLimit",
                            "stat_prefix": "nl",
                            "token_bucket": {"max_tokens": 10, "fill_interval": "1s"},
                        },
                    },
                    {
                        "name": "envoy.filters.network.tcp_proxy",
                        "typed_config": {
                            "@type": f"{T}extensions.filters.network.tcp_proxy.v3.TcpProxy",
                            "stat_prefix": "tcp",
                            "weighted_clusters": {"clusters": [{"name": "xds", "weight": 1}]},
                            "idle_timeout": "60s",
                            "max_connect_attempts": 2,
                            "hash_policy": [{"source_ip": {}}],
                        },
                    },
                ],
            },
        ],
    }
