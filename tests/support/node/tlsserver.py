"""A server in a pod: serves over TLS the fingerprint of the certificate that it started with.

As many servers do, it reads its certificate once. When it is asked to end, it goes on for a moment,
until clients have heard that its pod is going.
"""

import argparse
import hashlib
import signal
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

GRACE_SECONDS = 10.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    certificate = given.folder / "tls.crt"
    first, _, _ = certificate.read_text("utf-8").partition("-----END CERTIFICATE-----")
    der = ssl.PEM_cert_to_DER_cert(f"{first}-----END CERTIFICATE-----\n")
    text = hashlib.sha256(der).hexdigest().encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, given.folder / "tls.key")
    server = ThreadingHTTPServer(("127.0.0.1", given.port), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)

    def end(_number: int, _frame: object) -> None:
        threading.Timer(GRACE_SECONDS, server.shutdown).start()

    signal.signal(signal.SIGTERM, end)
    server.serve_forever(poll_interval=0.05)


if __name__ == "__main__":
    main()
