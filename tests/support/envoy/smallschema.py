"""A small schema of Envoy's messages, described here: what tests need without an Envoy.

Names, numbers and rules are those of Envoy 1.40, so what fits this schema fits Envoy's; a real test
compares the two.
"""

import re
from functools import cache
from typing import Any

from google.protobuf import (
    any_pb2,
    descriptor_pb2,
    descriptor_pool,
    duration_pb2,
    message_factory,
    struct_pb2,
    text_format,
    timestamp_pb2,
    wrappers_pb2,
)

from certwright.xds.schema.schema import MessageSchema

_Field = descriptor_pb2.FieldDescriptorProto
_LIBRARY = (descriptor_pb2, any_pb2, duration_pb2, struct_pb2, timestamp_pb2, wrappers_pb2)
_SCALARS = {
    name: getattr(_Field, f"TYPE_{name.upper()}")
    for name in ("string", "bytes", "bool", "double", "int32", "uint32", "uint64")
}

# name of a message: fields as "[repeated] type name number [oneof=NAME] [{rules}]"; a leading !
# before the name of a oneof makes it required. "enum NAME": values.
_RULES = """
validate.MessageRules
  bool skip 1
  bool required 2
validate.UInt32Rules
  uint32 lt 2
  uint32 lte 3
  uint32 gte 5
  uint32 gt 4
validate.StringRules
  uint64 min_len 2
  uint64 max_bytes 5
  repeated string in 10
  uint32 well_known_regex 24
  bool strict 25 default=true
validate.EnumRules
  bool defined_only 2
validate.RepeatedRules
  uint64 min_items 1
  bool unique 3
  validate.FieldRules items 4
validate.MapRules
  uint64 min_pairs 1
  validate.FieldRules keys 4
  validate.FieldRules values 5
validate.DurationRules
  bool required 1
  google.protobuf.Duration gt 5
  google.protobuf.Duration gte 6
validate.AnyRules
  bool required 1
validate.FieldRules
  validate.AnyRules any 20 oneof=type
  validate.MessageRules message 17
  validate.UInt32Rules uint32 5 oneof=type
  validate.StringRules string 14 oneof=type
  validate.EnumRules enum 16 oneof=type
  validate.RepeatedRules repeated 18 oneof=type
  validate.MapRules map 19 oneof=type
  validate.DurationRules duration 21 oneof=type
"""

_MESSAGES = """
enum envoy.config.core.v3.ApiVersion AUTO=0 V2=1 V3=2
enum envoy.config.cluster.v3.Cluster.DiscoveryType STATIC=0 STRICT_DNS=1 LOGICAL_DNS=2 EDS=3
enum envoy.config.cluster.v3.Cluster.LbPolicy ROUND_ROBIN=0 LEAST_REQUEST=1 RANDOM=3
enum envoy.config.core.v3.HealthStatus UNKNOWN=0 HEALTHY=1 UNHEALTHY=2 DRAINING=3
envoy.config.core.v3.SocketAddress
  string address 2 {string {min_len: 1}}
  uint32 port_value 3 oneof=!port_specifier {uint32 {lte: 65535}}
envoy.config.core.v3.Address
  envoy.config.core.v3.SocketAddress socket_address 1 oneof=!address
envoy.config.core.v3.AggregatedConfigSource
envoy.config.core.v3.SelfConfigSource
envoy.config.core.v3.PathConfigSource
  string path 1 {string {min_len: 1}}
envoy.config.core.v3.ConfigSource
  envoy.config.core.v3.PathConfigSource path_config_source 8 oneof=!config_source_specifier
  envoy.config.core.v3.AggregatedConfigSource ads 3 oneof=!config_source_specifier
  envoy.config.core.v3.SelfConfigSource self 5 oneof=!config_source_specifier
  envoy.config.core.v3.ApiVersion resource_api_version 6 {enum {defined_only: true}}
envoy.config.core.v3.DataSource
  string filename 1 oneof=!specifier {string {min_len: 1}}
  bytes inline_bytes 2 oneof=!specifier
  string inline_string 3 oneof=!specifier
envoy.config.core.v3.TransportSocket
  string name 1 {string {min_len: 1}}
  google.protobuf.Any typed_config 3 oneof=config_type
envoy.config.core.v3.TypedExtensionConfig
  string name 1 {string {min_len: 1}}
  google.protobuf.Any typed_config 2 {any {required: true}}
envoy.config.endpoint.v3.Endpoint
  envoy.config.core.v3.Address address 1
envoy.config.endpoint.v3.LbEndpoint
  envoy.config.endpoint.v3.Endpoint endpoint 1 oneof=host_identifier
  envoy.config.core.v3.HealthStatus health_status 2
envoy.config.endpoint.v3.LocalityLbEndpoints
  repeated envoy.config.endpoint.v3.LbEndpoint lb_endpoints 2
envoy.config.endpoint.v3.ClusterLoadAssignment
  string cluster_name 1 {string {min_len: 1}}
  repeated envoy.config.endpoint.v3.LocalityLbEndpoints endpoints 2
  map string envoy.config.endpoint.v3.Endpoint named_endpoints 5
envoy.config.cluster.v3.Cluster.EdsClusterConfig
  envoy.config.core.v3.ConfigSource eds_config 1
  string service_name 2
envoy.config.cluster.v3.Cluster
  string name 1 {string {min_len: 1}}
  envoy.config.cluster.v3.Cluster.DiscoveryType type 2 oneof=cluster_discovery_type {enum {defined_only: true}}
  envoy.config.cluster.v3.Cluster.EdsClusterConfig eds_cluster_config 3
  google.protobuf.Duration connect_timeout 4 {duration {gt {}}}
  google.protobuf.UInt32Value per_connection_buffer_limit_bytes 5
  envoy.config.cluster.v3.Cluster.LbPolicy lb_policy 6 {enum {defined_only: true}}
  envoy.config.core.v3.TransportSocket transport_socket 24
  envoy.config.endpoint.v3.ClusterLoadAssignment load_assignment 33
envoy.config.route.v3.RouteMatch
  string prefix 1 oneof=!path_specifier
  string path 2 oneof=!path_specifier
envoy.config.route.v3.WeightedCluster.ClusterWeight
  string name 1
  google.protobuf.UInt32Value weight 2
envoy.config.route.v3.WeightedCluster
  repeated envoy.config.route.v3.WeightedCluster.ClusterWeight clusters 1 {repeated {min_items: 1}}
envoy.config.route.v3.RouteAction
  string cluster 1 oneof=!cluster_specifier {string {min_len: 1}}
  string cluster_header 2 oneof=!cluster_specifier {string {min_len: 1 well_known_regex: 1 strict: false}}
  envoy.config.route.v3.WeightedCluster weighted_clusters 3 oneof=!cluster_specifier
envoy.config.route.v3.DirectResponseAction
  uint32 status 1 {uint32 {lt: 600 gte: 200}}
  envoy.config.core.v3.DataSource body 2
envoy.config.route.v3.Route
  envoy.config.route.v3.RouteMatch match 1 {message {required: true}}
  envoy.config.route.v3.RouteAction route 2 oneof=!action
  envoy.config.route.v3.DirectResponseAction direct_response 7 oneof=!action
envoy.config.route.v3.VirtualHost
  string name 1 {string {min_len: 1}}
  repeated string domains 2 {repeated {min_items: 1 items {string {well_known_regex: 2 strict: false}}}}
  repeated envoy.config.route.v3.Route routes 3
envoy.config.route.v3.RouteConfiguration
  string name 1
  repeated envoy.config.route.v3.VirtualHost virtual_hosts 2
  google.protobuf.BoolValue validate_clusters 7
envoy.config.route.v3.ScopedRouteConfiguration
  string name 1 {string {min_len: 1}}
  string route_configuration_name 2
envoy.config.listener.v3.Filter
  string name 1 {string {min_len: 1}}
  google.protobuf.Any typed_config 4 oneof=config_type
  envoy.config.core.v3.ExtensionConfigSource config_discovery 5 oneof=config_type
envoy.config.core.v3.ExtensionConfigSource
  envoy.config.core.v3.ConfigSource config_source 1 {any {required: true}}
  repeated string type_urls 4 {repeated {min_items: 1}}
envoy.config.listener.v3.FilterChain
  repeated envoy.config.listener.v3.Filter filters 3
  envoy.config.core.v3.TransportSocket transport_socket 6
envoy.config.listener.v3.Listener
  string name 1
  envoy.config.core.v3.Address address 2
  repeated envoy.config.listener.v3.FilterChain filter_chains 3
envoy.extensions.filters.http.router.v3.Router
envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter
  string name 1 {string {min_len: 1}}
  google.protobuf.Any typed_config 4 oneof=config_type
  envoy.config.core.v3.ExtensionConfigSource config_discovery 5 oneof=config_type
envoy.extensions.filters.network.http_connection_manager.v3.Rds
  envoy.config.core.v3.ConfigSource config_source 1
  string route_config_name 2
envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
  string stat_prefix 2 {string {min_len: 1}}
  envoy.extensions.filters.network.http_connection_manager.v3.Rds rds 3 oneof=!route_specifier
  envoy.config.route.v3.RouteConfiguration route_config 4 oneof=!route_specifier
  repeated envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter http_filters 5
envoy.extensions.transport_sockets.tls.v3.TlsCertificate
  envoy.config.core.v3.DataSource certificate_chain 1
  envoy.config.core.v3.DataSource private_key 2
envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext
  envoy.config.core.v3.DataSource trusted_ca 1
envoy.extensions.transport_sockets.tls.v3.GenericSecret
  envoy.config.core.v3.DataSource secret 1
envoy.extensions.transport_sockets.tls.v3.Secret
  string name 1
  envoy.extensions.transport_sockets.tls.v3.TlsCertificate tls_certificate 2 oneof=type
  envoy.extensions.transport_sockets.tls.v3.CertificateValidationContext validation_context 4 oneof=type
  envoy.extensions.transport_sockets.tls.v3.GenericSecret generic_secret 5 oneof=type
envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig
  string name 1 {string {min_len: 1}}
  envoy.config.core.v3.ConfigSource sds_config 2
envoy.extensions.transport_sockets.tls.v3.CommonTlsContext
  repeated envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig tls_certificate_sds_secret_configs 6
envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
  envoy.extensions.transport_sockets.tls.v3.CommonTlsContext common_tls_context 1
  string sni 2 {string {max_bytes: 255}}
envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
  envoy.extensions.transport_sockets.tls.v3.CommonTlsContext common_tls_context 1
envoy.service.runtime.v3.Runtime
  string name 1 {string {min_len: 1}}
  google.protobuf.Struct layer 2
"""

_LINE = re.compile(
    r"(?:(repeated) |map (\S+) )?(\S+) (\S+) (\d+)(?: oneof=(!?)(\S+))?(?: default=(\S+))?(?: (\{.*\}))?"
)


@cache
def small_schema() -> MessageSchema:
    """Return the schema, made once."""
    return MessageSchema(small_descriptors())


def small_descriptors() -> descriptor_pb2.FileDescriptorSet:
    """Return the descriptors of the small schema."""
    library = [
        descriptor_pb2.FileDescriptorProto.FromString(one.DESCRIPTOR.serialized_pb)
        for one in _LIBRARY
    ]
    rules = _Description("validate/validate.proto", "validate", "proto2").read(_RULES)
    for name, number, extendee in (
        ("rules", 1071, "FieldOptions"),
        ("required", 1071, "OneofOptions"),
        ("disabled", 1071, "MessageOptions"),
        ("ignored", 1072, "MessageOptions"),
    ):
        extension = rules.file.extension.add(
            name=name, number=number, extendee=f".google.protobuf.{extendee}"
        )
        extension.label, extension.type = _Field.LABEL_OPTIONAL, _Field.TYPE_BOOL
        if name == "rules":
            extension.type, extension.type_name = _Field.TYPE_MESSAGE, ".validate.FieldRules"
    pool = descriptor_pool.DescriptorPool()
    for file in (*library, rules.file):
        pool.Add(file)
    described = _Description("envoy/small.proto", "envoy", "proto3", pool).read(_MESSAGES)
    return descriptor_pb2.FileDescriptorSet(file=[*library, rules.file, described.file])


class _Description:
    """One file, built from the lines above."""

    def __init__(
        self,
        name: str,
        package: str,
        syntax: str,
        rules: descriptor_pool.DescriptorPool | None = None,
    ) -> None:
        self.file = descriptor_pb2.FileDescriptorProto(name=name, package=package, syntax=syntax)
        self.file.dependency.extend(one.DESCRIPTOR.name for one in _LIBRARY)
        if rules is not None:
            self.file.dependency.append("validate/validate.proto")
        self._package = package
        self._rules = rules
        self._messages: dict[str, descriptor_pb2.DescriptorProto] = {}
        self._enums: set[str] = set()

    def read(self, text: str) -> "_Description":
        lines = [line for line in text.splitlines() if line]
        for line in lines:  # first the names, since fields refer to later messages
            if line.startswith("enum "):
                _, name, *values = line.split()
                self._enum(name, values)
            elif not line.startswith(" "):
                self._message(line)
        current = None
        for line in lines:
            if line.startswith("  "):
                assert current is not None
                self._field(current, line.strip())
            elif not line.startswith("enum "):
                current = self._messages[line]
        return self

    def _message(self, name: str) -> descriptor_pb2.DescriptorProto:
        if name not in self._messages:
            self._messages[name] = self._place(name).add(name=name.rpartition(".")[2])
        return self._messages[name]

    def _place(self, name: str, what: str = "message_type") -> Any:
        """Return where a type goes: all packages are one file here, as messages in messages."""
        parent = name.rpartition(".")[0]
        if parent == self._package:
            return getattr(self.file, what)
        nested = "nested_type" if what == "message_type" else what
        return getattr(self._message(parent), nested)

    def _enum(self, name: str, values: list[str]) -> None:
        self._enums.add(name)
        enum = self._place(name, "enum_type").add(name=name.rpartition(".")[2])
        for value in values:
            word, _, number = value.partition("=")
            enum.value.add(name=word, number=int(number))

    def _field(self, message: descriptor_pb2.DescriptorProto, line: str) -> None:
        match = _LINE.fullmatch(line)
        assert match is not None, line
        repeated, key, kind, name, number, required, oneof, default, rules = match.groups()
        field = message.field.add(name=name, number=int(number), label=_Field.LABEL_OPTIONAL)
        if key:
            entry = message.nested_type.add(name=name.title().replace("_", "") + "Entry")
            entry.options.map_entry = True
            self._field(entry, f"{key} key 1")
            self._field(entry, f"{kind} value 2")
            owner = next(known for known, made in self._messages.items() if made is message)
            kind = f"{owner}.{entry.name}"
        if repeated or key:
            field.label = _Field.LABEL_REPEATED
        self._type(field, kind)
        if default:
            field.default_value = default
        if oneof:
            field.oneof_index = self._oneof(message, oneof, bool(required))
        if rules:
            field.options.CopyFrom(self._options("FieldOptions", "rules", rules))

    def _type(self, field: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
        else:
            field.type = _Field.TYPE_ENUM if kind in self._enums else _Field.TYPE_MESSAGE
            field.type_name = f".{kind}"

    def _oneof(self, message: descriptor_pb2.DescriptorProto, name: str, required: bool) -> int:  # noqa: FBT001 - as described
        known = [one.name for one in message.oneof_decl]
        if name not in known:
            made = message.oneof_decl.add(name=name)
            if required:
                made.options.CopyFrom(self._options("OneofOptions", "required", "true"))
            known.append(name)
        return known.index(name)

    def _options(self, kind: str, name: str, text: str) -> Any:
        """Return options with an extension, which the library keeps without knowing it."""
        pool = self._rules
        assert pool is not None
        extension: Any = pool.FindExtensionByName(f"validate.{name}")
        options: Any = message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"google.protobuf.{kind}")
        )()
        if extension.message_type is None:
            options.Extensions[extension] = text == "true"
        else:
            message_factory.GetMessageClass(extension.message_type)
            text_format.Merge(text[1:-1], options.Extensions[extension])
        return getattr(descriptor_pb2, kind).FromString(options.SerializeToString())
