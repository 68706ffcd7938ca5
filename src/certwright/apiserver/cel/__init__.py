"""CEL rules of custom resources (``x-kubernetes-validations``).

A schema enters and leaves as compiled rules; an object enters these, and errors leave.
"""

from certwright.apiserver.cel.rules import CompiledRules, compile_rules, rule_errors

__all__ = ["CompiledRules", "compile_rules", "rule_errors"]
