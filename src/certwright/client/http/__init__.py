"""HTTP/1.1 and TLS for one server: a request enters as bytes, a response leaves as it arrives.

`message` writes requests and parses responses, `tls` encrypts, a `connection` carries one
exchange at a time, the `dialer` makes connections (addresses, `proxy`, handshake), the `pool`
keeps them. Failures are `errors` that carry facts; advice is the caller's. The package depends
on nothing else of certwright.
"""
