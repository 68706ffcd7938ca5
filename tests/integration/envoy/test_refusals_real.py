"""What we refuse, the real Envoy refuses too."""

from collections import Counter
from pathlib import Path

import pytest
from tests.support.envoy.filexds import file_fed_envoy, real_schema
from tests.support.envoy.mutations import mutants
from tests.support.envoy.rich import rich_cluster, rich_listener

from certwright.testkit.controlplane.component import free_ports
from certwright.xds.schema.references import CLUSTER, LISTENER

pytestmark = pytest.mark.real


@pytest.mark.timeout(300)
async def test_envoy_refuses_each_broken_rule_that_we_refuse(tmp_path: Path) -> None:
    schema = real_schema()
    bases = [
        schema.make(CLUSTER, rich_cluster()),
        schema.make(LISTENER, rich_listener(*free_ports(1))),
    ]
    tried: Counter[str] = Counter()
    accepted = []
    async with file_fed_envoy(schema, tmp_path) as envoy:
        for base in bases:
            assert await envoy.takes(base), "the base is not broken"
            for path, mutant in mutants(schema, base):
                assert list(schema.problems(mutant)), path
                tried[base.name] += 1
                if await envoy.takes(mutant):
                    accepted.append(path)
                    await envoy.takes(base)
    assert sum(tried.values()) >= 500, tried
    assert not accepted, f"refused by us, accepted by Envoy: {accepted}"
