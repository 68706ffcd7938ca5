"""The messages of discovery services, described here field by field as far as they are used.

Envoy's own definitions are hundreds of files that two packages on the index fight over. A server
of opaque resources reads and writes few of their fields, so these are described at import, in a
pool of their own: whatever else the process loads under the same names does not clash. Fields
that are not described are skipped by the parser, as Protocol Buffers promise.
"""

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS: Final = {
    "string": _Field.TYPE_STRING,
    "bytes": _Field.TYPE_BYTES,
    "bool": _Field.TYPE_BOOL,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "uint32": _Field.TYPE_UINT32,
}

_DESCRIBED: Final[dict[str, str]] = {
    # message: "[repeated] kind name number", with a message's full name as the kind of a part
    "google.protobuf.Any": "string type_url 1, bytes value 2",
    "google.protobuf.Timestamp": "int64 seconds 1, int32 nanos 2",
    "google.rpc.Status": "int32 code 1, string message 2",
    "envoy.type.v3.SemanticVersion": "uint32 major_number 1, uint32 minor_number 2, uint32 patch 3",
    "envoy.config.core.v3.BuildVersion": "envoy.type.v3.SemanticVersion version 1",
    "xds.core.v3.ContextParams.ParamsEntry": "string key 1, string value 2",
    "xds.core.v3.ContextParams": "repeated xds.core.v3.ContextParams.ParamsEntry params 1",
    "envoy.config.core.v3.Node.DynamicParametersEntry": (
        "string key 1, xds.core.v3.ContextParams value 2"
    ),
    "envoy.config.core.v3.Node": (
        "string id 1, string cluster 2, string user_agent_name 6, string user_agent_version 7, "
        "envoy.config.core.v3.BuildVersion user_agent_build_version 8, "
        "repeated envoy.config.core.v3.Node.DynamicParametersEntry dynamic_parameters 12"
    ),
    "envoy.service.discovery.v3.DiscoveryRequest": (
        "string version_info 1, envoy.config.core.v3.Node node 2, "
        "repeated string resource_names 3, string type_url 4, string response_nonce 5, "
        "google.rpc.Status error_detail 6"
    ),
    "envoy.service.discovery.v3.DiscoveryResponse": (
        "string version_info 1, repeated google.protobuf.Any resources 2, string type_url 4, "
        "string nonce 5"
    ),
    "envoy.service.discovery.v3.DeltaDiscoveryRequest.InitialResourceVersionsEntry": (
        "string key 1, string value 2"
    ),
    "envoy.service.discovery.v3.DeltaDiscoveryRequest": (
        "envoy.config.core.v3.Node node 1, string type_url 2, "
        "repeated string resource_names_subscribe 3, "
        "repeated string resource_names_unsubscribe 4, "
        "repeated envoy.service.discovery.v3.DeltaDiscoveryRequest.InitialResourceVersionsEntry "
        "initial_resource_versions 5, "
        "string response_nonce 6, google.rpc.Status error_detail 7"
    ),
    "envoy.service.discovery.v3.Resource": (
        "string version 1, google.protobuf.Any resource 2, string name 3"
    ),
    "envoy.service.discovery.v3.DeltaDiscoveryResponse": (
        "string system_version_info 1, repeated envoy.service.discovery.v3.Resource resources 2, "
        "string type_url 4, string nonce 5, repeated string removed_resources 6"
    ),
    "envoy.type.matcher.v3.StringMatcher": "string exact 1, string prefix 2, string suffix 3",
    "envoy.type.matcher.v3.NodeMatcher": "envoy.type.matcher.v3.StringMatcher node_id 1",
    "envoy.service.status.v3.ClientStatusRequest": (
        "repeated envoy.type.matcher.v3.NodeMatcher node_matchers 1, "
        "envoy.config.core.v3.Node node 2, bool exclude_resource_contents 3"
    ),
    "envoy.admin.v3.UpdateFailureState": (
        "google.protobuf.Timestamp last_update_attempt 2, string details 3, string version_info 4"
    ),
    "envoy.service.status.v3.ClientConfig.GenericXdsConfig": (
        "string type_url 1, string name 2, string version_info 3, "
        "google.protobuf.Timestamp last_updated 5, int32 config_status 6, int32 client_status 7, "
        "envoy.admin.v3.UpdateFailureState error_state 8"
    ),
    "envoy.service.status.v3.ClientConfig": (
        "envoy.config.core.v3.Node node 1, "
        "repeated envoy.service.status.v3.ClientConfig.GenericXdsConfig generic_xds_configs 3, "
        "string client_scope 4"
    ),
    "envoy.service.status.v3.ClientStatusResponse": (
        "repeated envoy.service.status.v3.ClientConfig config 1"
    ),
    "grpc.health.v1.HealthCheckRequest": "string service 1",
    "grpc.health.v1.HealthCheckResponse": "int32 status 1",
}


class Undecodable(ValueError):
    """Bytes that are not a message of the type that was expected."""


def _pool() -> descriptor_pool.DescriptorPool:
    """Describe each message in a file of its own package; parts of a message lie inside it."""
    packages: dict[str, descriptor_pb2.FileDescriptorProto] = {}
    known: dict[str, descriptor_pb2.DescriptorProto] = {}
    for name in sorted(_DESCRIBED, key=lambda one: one.count(".")):
        parent, _, short = name.rpartition(".")
        if parent in _DESCRIBED:
            described = known[parent].nested_type.add(name=short)
            described.options.map_entry = short.endswith("Entry")
        else:
            file = packages.setdefault(
                parent,
                descriptor_pb2.FileDescriptorProto(
                    name=f"{parent}.proto", package=parent, syntax="proto3"
                ),
            )
            described = file.message_type.add(name=short)
        known[name] = described
    imports: dict[str, set[str]] = {package: set() for package in packages}
    for name, text in _DESCRIBED.items():
        own = _package(name)
        for described_field in text.split(", "):
            *repeated, kind, field_name, number = described_field.split()
            added = known[name].field.add(name=field_name, number=int(number))
            added.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
            if kind in _KINDS:
                added.type = _KINDS[kind]
            else:
                added.type, added.type_name = _Field.TYPE_MESSAGE, f".{kind}"
                imports[own] |= {_package(kind)} - {own}
    pool = descriptor_pool.DescriptorPool()
    added_packages: set[str] = set()

    def add(package: str) -> None:
        if package in added_packages:
            return
        added_packages.add(package)
        for needed in sorted(imports[package]):
            add(needed)
            packages[package].dependency.append(f"{needed}.proto")
        pool.Add(packages[package])

    for package in packages:
        add(package)
    return pool


def _package(name: str) -> str:
    while (name := name.rpartition(".")[0]) in _DESCRIBED:
        pass
    return name


_POOL: Final = _pool()


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(name))


AnyMessage: Final = _class("google.protobuf.Any")
Node: Final = _class("envoy.config.core.v3.Node")
DiscoveryRequest: Final = _class("envoy.service.discovery.v3.DiscoveryRequest")
DiscoveryResponse: Final = _class("envoy.service.discovery.v3.DiscoveryResponse")
DeltaDiscoveryRequest: Final = _class("envoy.service.discovery.v3.DeltaDiscoveryRequest")
DeltaDiscoveryResponse: Final = _class("envoy.service.discovery.v3.DeltaDiscoveryResponse")
ClientStatusRequest: Final = _class("envoy.service.status.v3.ClientStatusRequest")
ClientStatusResponse: Final = _class("envoy.service.status.v3.ClientStatusResponse")
HealthCheckRequest: Final = _class("grpc.health.v1.HealthCheckRequest")
HealthCheckResponse: Final = _class("grpc.health.v1.HealthCheckResponse")


def decode(kind: Any, data: bytes) -> Any:
    """Return a message of its bytes; `Undecodable` if they are none."""
    try:
        return kind.FromString(data)
    except message.DecodeError as error:
        raise Undecodable(f"not a {kind.DESCRIPTOR.full_name}: {error}") from None
