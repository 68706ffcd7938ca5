"""CEL rules of custom resources (``x-kubernetes-validations``)."""

from certwright.apiserver.cel.rules import CompiledRules, compile_rules, rule_errors

__all__ = ["CompiledRules", "compile_rules", "rule_errors"]
