"""Cases: the certificates that are requested, as data, and the objects that request them."""
