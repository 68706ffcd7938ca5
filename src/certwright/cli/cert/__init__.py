"""``certwright cert``: look at certificates, wherever they are.

A file, a Secret or a request enters through `inspect`, which reads it as `contents`. `details`
describes each certificate, `diagnostics` and `lint` find what is wrong, and `table` prints it all.
"""
