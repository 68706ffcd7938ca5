"""An authority whose key never leaves its HSM. Needs ``pip install 'certwright[pkcs11]'``."""

from certwright.issuers.pkcs11.keys import KeyStaysInside, key_inside
from certwright.issuers.pkcs11.module import HsmError, KeyPlace, Module

__all__ = ["HsmError", "KeyPlace", "KeyStaysInside", "Module", "key_inside"]
