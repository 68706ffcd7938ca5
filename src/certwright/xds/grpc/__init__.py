"""gRPC for servers: HTTP/2 by the h2 library, messages in and out, within limits, over mTLS.

Bytes of a client enter at `transport`, which decrypts them; `floods` looks at their frames, and
`connection` turns them into calls (`call`) and messages (`envelope`). A handler takes the messages
of its call and is asked for the next one when there is room, so nothing piles up for a client that
does not read. Every refusal is a status (`status`) with a reason that is counted.
"""
