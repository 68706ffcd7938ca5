"""The real Envoy, for tests: found, asked to check a bootstrap, run, and asked what it holds.

A bootstrap enters as a JSON object. `find_envoy` returns the binary or raises `EnvoyMissing` with
the command that brings it; `check_bootstrap` returns what Envoy has to say against it; `envoy`
runs one Envoy whose `EnvoyAdmin` tells statistics, configuration and certificates.
"""

from certwright.testkit.envoy.binary import EnvoyMissing, find_envoy
from certwright.testkit.envoy.process import RunningEnvoy, check_bootstrap, envoy

__all__ = ["EnvoyMissing", "RunningEnvoy", "check_bootstrap", "envoy", "find_envoy"]
