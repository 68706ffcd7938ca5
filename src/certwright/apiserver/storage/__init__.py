"""Where objects are: every object, and the changes that led there.

A kind and an object enter, a numbered `Record` leaves (`storage`). `registry` knows which kinds
are served and where their objects are; `versions` shows one record in each served version.
"""
