"""The shipped alerting rules on series, judged by Prometheus' own promtool."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

INSTALL = "`make test-tools` installs prometheus, which brings it"
STEP_SECONDS = 60

Series = Mapping[str, str]
"""Series and their values, one a minute, as promtool's files have them."""


class Alert(NamedTuple):
    """An alert that fires, with the labels that name the object."""

    name: str
    namespace: str = ""
    object: str = ""


def rules() -> dict[str, Any]:
    """Return the rules by the name of their alert."""
    text = files("certwright.cli").joinpath("alerts.yaml").read_text("utf-8")
    groups = yaml.safe_load(text)["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def series_of(scrapes: Sequence[str]) -> Series:
    """Return what was scraped minute by minute as series, as far as the rules ask for it."""
    expressions = " ".join(rule["expr"] for rule in rules().values())
    asked = set(re.findall(r"[a-z_]{8,}", expressions))
    found: dict[str, list[str]] = {}
    for number, text in enumerate(scrapes):
        seen = {
            f"{sample.name}{{{_labels(sample.labels)}}}": sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name in asked
        }
        for series in {*seen, *found}:
            values = found.setdefault(series, ["_"] * number)
            gone = "stale" if values and values[-1] not in {"_", "stale"} else "_"
            values.append(f"{seen[series]:g}" if series in seen else gone)
    return {series: " ".join(values) for series, values in found.items()}


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f"{name}={json.dumps(value)}" for name, value in sorted(labels.items()))


def assert_firing(folder: Path, series: Series, expected: Mapping[int, Sequence[Alert]]) -> None:
    """Let promtool check which alerts fire at which minute, no more and no less."""
    if shutil.which("promtool") is None:
        pytest.skip(f"no promtool on this machine: {INSTALL}")
    fires = 'count by (alertname, namespace, name) (ALERTS{alertstate="firing"})'
    tests = {
        "interval": f"{STEP_SECONDS}s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {"expr": fires, "eval_time": f"{minute}m", "exp_samples": [*map(_sample, alerts)]}
            for minute, alerts in expected.items()
        ],
    }
    with as_file(files("certwright.cli").joinpath("alerts.yaml")) as path:
        whole = {
            "rule_files": [str(path)],
            "evaluation_interval": f"{STEP_SECONDS}s",
            "tests": [tests],
        }
        file = folder / "test.yaml"
        file.write_text(yaml.safe_dump(whole))
        done = subprocess.run(
            ["promtool", "test", "rules", file], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr


def _sample(alert: Alert) -> dict[str, Any]:
    labels = {"alertname": alert.name, "namespace": alert.namespace, "name": alert.object}
    return {"labels": f"{{{_labels({k: v for k, v in labels.items() if v})}}}", "value": 1}
