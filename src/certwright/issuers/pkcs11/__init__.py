"""An authority whose key never leaves its HSM. ``python -m certwright.issuers.pkcs11 run``.

Needs ``pip install 'certwright[pkcs11]'``.
"""

from importlib.util import find_spec

if find_spec("pkcs11") is None:
    raise ModuleNotFoundError("this issuer has a dependency of its own: certwright[pkcs11]")

from certwright.issuers.pkcs11.issuer import Pkcs11Spec, app, pkcs11_issuer
from certwright.issuers.pkcs11.keys import KeyStaysInside, check_inside, key_inside
from certwright.issuers.pkcs11.module import HsmError, KeyPlace, Module

__all__ = [
    "HsmError",
    "KeyPlace",
    "KeyStaysInside",
    "Module",
    "Pkcs11Spec",
    "app",
    "check_inside",
    "key_inside",
    "pkcs11_issuer",
]
