"""From bytes to a `Call`, and from records to bytes.

A request enters through TLS (`listener`) or in this process (`transport`); its path, query and
headers become a `Call` (`request`), its body an object (`bodies`, `protobuf`), its parameters
options (`options`). Records leave as JSON, metadata or tables (`media`, `responses`, `tables`).
"""
