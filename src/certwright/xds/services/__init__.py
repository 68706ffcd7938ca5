"""What is served over gRPC: discovery streams, the health of the server, the state of its clients.

`discovery` joins a call with a stream of the protocol and the snapshots of its node. `health` and
`clientstatus` answer single questions (`unary`). Each function here makes the handler of one call.
"""
