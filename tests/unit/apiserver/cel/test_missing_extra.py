import subprocess
import sys

SCRIPT = """
import sys
sys.modules["cel"] = None  # as if the extra were not installed
from certwright.apiserver.cel import rule_errors
from certwright.apiserver.schema.schema import Schema, ValidationRule
assert list(rule_errors(Schema("object"), "schema")) == []
(cause,) = rule_errors(Schema("object", rules=(ValidationRule("true"),)), "schema")
print(cause.message)
"""


def test_definitions_with_rules_say_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=50
    )

    assert "CEL rules need the extra: pip install 'certwright[cel]'" in done.stdout
