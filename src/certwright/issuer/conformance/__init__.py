"""Tests whether an issuer conforms: any issuer, in any language, on any cluster.

As a test class (`IssuerConformance`), as a command (``conformance``), or as a function::

    report = await run(IssuerUnderTest(client, clock, issuer, resource, namespace))

The kit makes and approves requests of every kind and compares each answer with the request. It
also tests the protocol: when the issuer must wait, what it must refuse, what it must not touch.
Every violation has a name. What an authority cannot do is declared as a `Feature` and skipped.
"""

from certwright.issuer.conformance.cases.features import Feature
from certwright.issuer.conformance.matrix import junit, render
from certwright.issuer.conformance.results import CaseResult, ConformanceReport
from certwright.issuer.conformance.runner import run
from certwright.issuer.conformance.suite import IssuerConformance
from certwright.issuer.conformance.undertest import IssuerUnderTest

__all__ = [
    "CaseResult",
    "ConformanceReport",
    "Feature",
    "IssuerConformance",
    "IssuerUnderTest",
    "junit",
    "render",
    "run",
]
