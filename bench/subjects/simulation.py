"""Seeds of the simulator: the example controller keeping a crowd of greetings, in a storm."""

from bench import meter
from certwright.kube import ObjectMeta
from certwright.testkit import EmbeddedCluster, Storm
from certwright.testkit.faults.simulation import Play, run
from greeting import Greeting, GreetingSpec, controller


async def crowd(cluster: EmbeddedCluster) -> None:
    """Create, change and delete greetings while the controller works on the others."""
    names = [f"greeting-{number}" for number in range(12)]
    for name in names:
        spec = GreetingSpec(count=3)
        await cluster.create(Greeting(metadata=ObjectMeta(name=name), spec=spec))
    await cluster.settle()
    for name in names:
        await cluster.patch(Greeting, name, {"spec": {"text": "hey", "count": 4}})
    await cluster.settle()
    for name in names[::2]:
        await cluster.delete(Greeting, name)
    await cluster.settle()


def main(task: meter.Task) -> None:
    play = Play(crowd, (controller,))
    calm = run(play)  # also warms everything that is read once per process
    fewest = calm.requests + calm.events
    meter.start()
    for seed in range(task.objects):
        result = run(play, Storm(seed), seed=seed, shuffle=True)
        if wrong := result.differences_from(calm):
            raise SystemExit(f"seed {seed}: {wrong}")
        fewest = min(fewest, result.requests + result.events)
    meter.mark("done", fewest=fewest)


if __name__ == "__main__":
    main(meter.task())
