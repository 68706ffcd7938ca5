"""Cases: which certificates are asked for, as data, and the objects that ask."""
