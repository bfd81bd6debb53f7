"""A cluster of Ray: somebody has started it, and gives the module ray, which is connected to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rankscope.errors import OptionError, UnfinishedError
from rankscope.executors.tasks import FEWER, TaskFailure, failure_of, outcome, pickled


class RayExecutor:
    """Runs a function on the nodes of Ray, which tries again by itself where a worker is lost."""

    def __init__(self, ray: Any) -> None:
        if not ray.is_initialized():
            raise OptionError("ray is not connected to a cluster", hint="call ray.init() first")
        self.ray = ray

    @property
    def n_workers(self) -> int:
        """How many processors all nodes have together."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def run(
        self, function: Callable[[Any], Any], inputs: Sequence[Any], *, retries: int = 2
    ) -> Iterator[tuple[int, Any]]:
        """Yield results as they come; what is not done when nobody wants it any more is cancelled."""
        pickled(function)
        task, sent = self.ray.remote(max_retries=retries)(outcome), self.ray.put(function)
        positions = {task.remote(sent, position, given): position for position, given in enumerate(inputs)}
        try:
            while positions:
                (reference,), _ = self.ray.wait(list(positions), num_returns=1)
                position = positions.pop(reference)
                try:
                    result = self.ray.get(reference)
                except self.ray.exceptions.RayError as error:
                    result = failure_of_ray(error, position)
                yield position, result
        finally:
            for reference in positions:
                self.ray.cancel(reference, force=True)

    def everywhere(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Return what each node says, by its address."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        def answer() -> Any:  # a function within a function is sent as a whole, so that a node needs nothing of ours
            return function(*args)

        answers = {}
        for node in (node for node in self.ray.nodes() if node["Alive"]):
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            name = f"{node['NodeManagerAddress']} ({node['NodeID'][:8]})"
            try:
                answers[name] = self.ray.get(self.ray.remote(scheduling_strategy=there, num_cpus=0)(answer).remote())
            except Exception as error:  # noqa: BLE001 (whatever it is, it is the answer)
                answers[name] = getattr(error, "cause", None) or error
        return answers

    def close(self) -> None:
        """Leave it to those who have connected to it."""


def failure_of_ray(error: Exception, position: int) -> TaskFailure:
    """Return what became of a task that has no result."""
    name = type(error).__name__
    if name == "OutOfMemoryError":
        return TaskFailure(position, UnfinishedError("its node ran out of memory, each time", hint=FEWER), "memory")
    if name in {"WorkerCrashedError", "NodeDiedError", "ObjectLostError", "LocalRayletDiedError"}:
        lost = UnfinishedError(f"its worker was lost each time ({name})", hint="run it again")
        return TaskFailure(position, lost, "lost")
    return failure_of(error, position)
