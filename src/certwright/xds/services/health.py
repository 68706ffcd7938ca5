"""The health of the server, as gRPC has it: ``grpc.health.v1.Health/Check``."""

from collections.abc import Callable, Collection
from typing import Final

from certwright.xds.access import ClientIdentity
from certwright.xds.grpc.call import CallHandler, GrpcCall
from certwright.xds.grpc.status import CallRefused, StatusCode
from certwright.xds.messages import HealthCheckRequest, HealthCheckResponse, Undecodable, decode
from certwright.xds.services.unary import UnaryCall

CHECK: Final = "/grpc.health.v1.Health/Check"
_SERVING, _NOT_SERVING = 1, 2


def health_service(
    ready: Callable[[], bool], services: Collection[str]
) -> Callable[[GrpcCall, ClientIdentity], CallHandler]:
    """Return what answers whether the server, or one of its services, serves."""

    def answer(data: bytes) -> bytes:
        try:
            asked = decode(HealthCheckRequest, data).service
        except Undecodable as error:
            raise CallRefused(StatusCode.INVALID_ARGUMENT, "request", str(error)) from None
        if asked and asked not in services:
            raise CallRefused(
                StatusCode.NOT_FOUND, "request", f"no service {asked[:200]!r} is served here"
            )
        status = _SERVING if ready() else _NOT_SERVING
        return bytes(HealthCheckResponse(status=status).SerializeToString())

    return lambda _call, _identity: UnaryCall(answer)
