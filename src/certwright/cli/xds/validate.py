"""EnvoyConfigs in files, checked without a cluster."""

import sys
from collections.abc import Sequence

import msgspec

from certwright.api.envoyconfigs import EnvoyConfig
from certwright.cli.apply.inputs import read_manifests
from certwright.cli.errors import UsageError
from certwright.cli.options import Output
from certwright.cli.terminal.output import document
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.config.assembly import check
from certwright.operators.discoveryservice.config.content import read_content
from certwright.xds.schema.errors import FieldProblem, ResourceRefused
from certwright.xds.schema.schema import MessageSchema


def validate_files(
    paths: Sequence[str], schema: MessageSchema, output: Output, *, recursive: bool = False
) -> int:
    """Print what is wrong with the EnvoyConfigs in files; return 1 if something is."""
    manifests = read_manifests(paths, recursive=recursive)
    configs = [one.obj for one in manifests if one.obj.get("kind") == EnvoyConfig.resource.kind]
    if not configs:
        raise UsageError("there is no EnvoyConfig in these files")
    results = [(one["metadata"].get("name", ""), problems_of(schema, one)) for one in configs]
    if output is Output.TABLE:
        for name, problems in results:
            for problem in problems:
                print(f"EnvoyConfig {name}: {problem}")
            if not problems:
                print(f"EnvoyConfig {name}: can be served", file=sys.stderr)
    else:
        print(document([_result(*one) for one in results], output))
    return 1 if any(problems for _, problems in results) else 0


def problems_of(schema: MessageSchema, obj: JsonObject) -> Sequence[FieldProblem]:
    """Return why an EnvoyConfig could not be served."""
    try:
        config = msgspec.convert(obj, EnvoyConfig)
    except msgspec.ValidationError as error:
        return [FieldProblem("", str(error))]
    try:
        check(schema, read_content(config.spec, config.metadata.namespace))
    except ResourceRefused as refused:
        return refused.problems
    return ()


def _result(name: str, problems: Sequence[FieldProblem]) -> JsonObject:
    return {
        "name": name,
        "valid": not problems,
        "problems": [{"field": one.path, "problem": one.problem} for one in problems],
    }
