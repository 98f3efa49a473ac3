"""Experiments 2 and 3: create containers, virtual machines, or parents with children, all at one moment.

Each runs a program that ends at once. As in the paper, a creation lasts from its command to the end of the container,
and several creations last until the last container has ended. The commands are those that a user would type.
"""

from pathlib import Path
from statistics import mean

from plimsoll.designs.nesting import cpu, gate
from plimsoll.designs.nesting.factors import PRELOADED
from plimsoll.designs.nesting.task import Task as Base
from plimsoll.errors import Unavailable
from plimsoll.runtimes import docker_nested
from plimsoll.runtimes.base import HOST, Afterwards, Spec
from plimsoll.runtimes.docker_nested import PARENTS, Parents
from plimsoll.services import snapshots
from plimsoll.workloads import loop, program_output
from plimsoll.workloads.base import InvalidOutput

# Parts of a parent's time, and the name of the moment at which each ends (docker_nested.moments), in order.
PARTS = {"parent_time": "parent", "engine_time": "engine", "image_load_time": "image", "children_time": "children"}


class Task(Base):
    """Creations at one moment: as many as the cell has instances, each with the cell's number of children."""

    def __init__(self, *given):
        super().__init__(*given)
        self.created: list[str] = []

    def measure(self) -> dict:
        self.runtime.network.set_up(HOST)
        commands = self._nested() if self.children else [self._alone(number, spec) for number, spec in enumerate(self.specs())]
        passed = self._counted(commands)
        self._refuse_unended(passed)
        after = self.runtime.collect(self.specs())
        began = [self._began(name, ahead) - passed.opened for name, ahead in self._programs(after)]
        each = [self._creation(number, passed, after[number]) for number in range(self.instances)]
        last = max(one["ended"] for one in each)
        apart = max(one["begun"] for one in each) - min(one["begun"] for one in each)
        parts = {part: mean(one[part] for one in each) for part in each[0] if part.endswith("_time")}
        values = {"creation_time": last, "ready_time": max(began), "creation_time_each": last / self.number, **parts}
        programs_apart = round(max(began) - min(began), 6)
        return {"values": values, "apart": round(apart, 6), "programs_apart": programs_apart, "each": each}

    def _counted(self, commands: list[list[str]]) -> gate.Outcome:
        """Let the commands pass the gate together, between two snapshots of the machine."""
        before = []
        with snapshots.snapshots(self.attempt, self.services) as snapshot:
            limit, watch = self.cell["limit_seconds"], self.attempt.watch
            passed = gate.pass_together(commands, self.attempt.folder, limit, lambda: before.append(snapshot()), watch)
            self.spans.append((before[0], snapshot()))
        return passed

    def take_down(self) -> None:
        if self.created:
            self.runtime.remove(self.created)
        super().take_down()

    def _alone(self, number: int, spec: Spec) -> list[str]:
        """Return the command that creates one container, and note its name for removal."""
        self.created.append(spec.name)
        return self.runtime.foreground(spec._replace(command=self._dummy(str(number))))

    def _nested(self) -> list[list[str]]:
        """Return the commands that create parents.

        In the task `preloaded`, each parent shares the volume of a parent that has loaded the child's image before.
        """
        docker_nested.refuse_others(self.attempt.image)
        specs = [spec._replace(command=self._dummy(f"{number}-NUMBER")) for number, spec in enumerate(self.specs())]
        if self.cell["task"] != PRELOADED:
            wanted = [docker_nested.parent_of(spec, self.children) for spec in specs]
            self.created += [spec.name for spec in wanted]
            return [PARENTS.foreground(spec) for spec in wanted]
        sharing = [Parents(self._loaded(number)) for number in range(self.instances)]
        wanted = [docker_nested.parent_of(spec, self.children, loads=False) for spec in specs]
        self.created = [spec.name for spec in wanted] + self.created
        return [parents.foreground(spec) for parents, spec in zip(sharing, wanted, strict=True)]

    def _loaded(self, number: int) -> str:
        """Start a parent that loads the child's image into its volume and ends. Return the parent's name."""
        spec = docker_nested.parent_of(self.services.spec(f"loaded{number}", self.attempt.image))
        self.created.append(spec.name)
        docker_nested.load_once(spec)
        return spec.name

    def _programs(self, after: list[Afterwards]) -> list[tuple[str, float]]:
        """Return (name of its folder, seconds that its clock is ahead of the host's) for the program in each container."""
        if not self.children:
            return [(str(number), one.ahead) for number, one in enumerate(after)]
        return [(f"{number}-{child}", 0.0) for number in range(self.instances) for child in range(1, self.children + 1)]

    def _dummy(self, name: str) -> tuple[str, ...]:
        """Return the command of the program that a container runs, and make the folder for its output.

        `name` names the folder. NUMBER in it stands for the child's number: one folder is made for each child.
        """
        folder = self.attempt.folder / f"program-{name}"
        for each in range(1, self.children + 1) if self.children else [0]:
            Path(str(folder).replace("NUMBER", str(each))).mkdir(exist_ok=True)
        program = self.sysbench.command(self.cell["parameters"])
        return (*loop.command(folder, 0.0, self.cell["limit_seconds"], 1), *program)

    def _began(self, name: str, ahead: float) -> float:
        """Return when the program of this name began (s of the host's CLOCK_MONOTONIC).

        Raise InvalidOutput if the program did not end well, or if its output is wrong.
        """
        folder = self.attempt.folder / f"program-{name}"
        try:
            began = cpu.iteration_times(folder, self.cell["limit_seconds"], ahead)["begin"]
            self.sysbench.results(program_output.text_of(loop.output_of(folder, 1)), self.cell["parameters"])
        except InvalidOutput as problem:
            raise InvalidOutput(f"the program of container {name}: {problem}") from problem
        return began

    def _refuse_unended(self, passed: gate.Outcome) -> None:
        """Raise Unavailable, with its last line of output, if a creation failed or did not end in time.

        Raise InvalidOutput if a creation did not note when it began.
        """
        for number, (code, begun, ended) in enumerate(zip(passed.codes, passed.begun, passed.ended, strict=True)):
            if ended is None:
                raise Unavailable(f"creation {number + 1} had not ended after {self.cell['limit_seconds']:g} s")
            if code:
                said = program_output.last_line(self.attempt.folder / f"{number}.err", "it said nothing")
                raise Unavailable(f"creation {number + 1} ended with {code}: {said}")
            if begun is None:
                raise InvalidOutput(f"creation {number + 1} did not note when it began")

    def _creation(self, number: int, passed: gate.Outcome, after: Afterwards) -> dict:
        """Return the moments of one creation in seconds after the gate was opened: `begun` and `ended`.

        A parent also has the duration of each of its parts, and a virtual machine the moments of its start.
        """
        opened = passed.offset + passed.opened
        one = {"begun": passed.begun[number] - passed.opened, "ended": passed.ended[number] - passed.opened}
        if self.children:
            noted = docker_nested.moments(docker_nested.notes_of(self.services.spec(f"c{number}", self.attempt.image)))
            one.update(parts(noted, opened, one["ended"]))
        one.update({f"{name}_time": moment - opened for name, moment in after.moments.items()})
        return {name: round(value, 6) for name, value in one.items()}


def parts(noted: dict[str, float], opened: float, ended: float) -> dict[str, float]:
    """Return how long each part of a parent's time took (s): those of PARTS, `end_time`, and two sums.

    `other_time` is everything except loading the child's image. `parent_ready_time` is everything until the first child
    begins. `noted` has the parent's moments and `opened` the moment at which the gate was opened (s since 1970).
    `ended` is when the parent ended, in seconds after `opened`. Raise InvalidOutput if a moment is missing or out of
    order.
    """
    durations, before = {}, opened
    for part, moment in PARTS.items():
        if moment not in noted:
            raise InvalidOutput(f"the parent did not note when its {moment} had ended")
        if noted[moment] < before:
            raise InvalidOutput(f"the parent noted that its {moment} had ended before it had begun")
        durations[part] = noted[moment] - before
        before = noted[moment]
    if ended < before - opened - gate.CLOCKS:
        raise InvalidOutput("the parent noted that its children had ended after it had ended itself")
    others = {
        "other_time": ended - durations["image_load_time"],
        "parent_ready_time": before - opened - durations["children_time"],
    }
    return {**durations, "end_time": ended - (before - opened), **others}
