"""Faulty issuers: each does one thing wrong, is named after it, and says who catches it."""

from tests.component.issuer.conformance.faulty.fault import Fault, fault

__all__ = ["Fault", "fault"]
