"""A discovery service: configuration enters as snapshots, and Envoys fetch it over gRPC and mTLS.

::

    snapshots = SnapshotStore()
    backend = resource(CLUSTER, "backend", encoded)
    snapshots.put(NodeKey("shop", "gateway"), NodeSnapshot.of([backend]))
    server = XdsServer(snapshots, certificate, ListenAddress(18000, "::"), metrics=metrics)
    await server.run()

`snapshot` holds what a node shall have, each resource encoded once; `store` keeps the newest by
namespace and node-id. `protocol` decides, without input or output, what a stream is sent next.
`grpc` moves messages over HTTP/2 and TLS within limits, `services` join the two, and `server`
listens. What leaves beside the configuration are observations (`observations`): which Envoy holds
which version, and what it rejected with which words. No word of Kubernetes objects is in here.
"""
