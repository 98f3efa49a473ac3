"""One application split over containers: liu2020's factors, schemes and affinity."""

from plimsoll import benchmarks, instruments, paths, runtimes, topology
from plimsoll.designs.base import Attempt, Design
from plimsoll.errors import PlimsollError
from plimsoll.instruments.base import Instrument
from plimsoll.splitting import affinity

# Factors that an experiment names levels of.
OF_EXPERIMENT = ("hardware", "mode", "runtime", "yield")


class Splitting(Design):
    """Cells are deployments of one MPI application: how many containers, on which cores, of which runtime."""

    name = "splitting"
    factors = ("hardware", "mode", "scheme", "runtime", "affinity", "yield", "sizes", "instrument", "section")
    sizes = ("containers", "ranks", "ranks_per_container", "cores")
    of_run = ("transport", "single_copy", "network_bytes")
    pattern = "[a-z]+/[a-z]+/[EOS][0-9]+/[a-z-]+/[a-z]+/[a-z]+/[a-z]+/[a-z]+/[a-z]+"
    tries_runtimes = True
    template = "splitting.html.j2"

    def check(self, study: dict, source: str, refer) -> None:
        """Names of runtimes, levels, sections, metrics, experiments and files."""
        factors = study["factors"]
        sections = benchmarks.find(study["benchmark"]).sections
        refer("factors.runtime", factors["runtime"], sorted(runtimes.known()))
        refer("baseline", [study["baseline"]], factors["runtime"])
        refer("factors.affinity", factors["affinity"], list(affinity.LEVELS))
        refer("yield_by_mode", list(study["yield_by_mode"]), factors["mode"])
        refer("yield_by_mode", list(study["yield_by_mode"].values()), list(factors["yield"]))
        for name, metric in study["metrics"].items():
            refer(f"metrics.{name}.section", [metric["section"]], sections)
            refer(f"metrics.{name}.instrument", [metric.setdefault("instrument", Instrument.name)], list(instruments.known()))
            metric["source"] = [metric["source"]] if isinstance(metric["source"], str) else metric["source"]
        for name, experiment in study["experiments"].items():
            for factor in OF_EXPERIMENT:
                refer(f"experiments.{name}.{factor}", experiment.get(factor, []), list(factors[factor]))
            _resolve_affinity(source, name, experiment)
            for levels in experiment["affinity"].values():
                refer(f"experiments.{name}.affinity", levels, factors["affinity"])
            refer(f"experiments.{name}.sections", experiment["sections"], sections)
            refer(f"experiments.{name}.metrics", experiment.get("metrics", []), list(study["metrics"]))
            instrument = experiment.get("instrument", Instrument.name)
            refer(f"experiments.{name}.instrument", [instrument], list(instruments.known()))
        for name, figure in study["figures"].items():
            refer(f"figures.{name}.beside", figure.get("beside", []), list(study["experiments"]))
            experiment = study["experiments"][figure["experiment"]]
            for metric in figure.get("metrics", []):
                refer(f"figures.{name}.metrics", [study["metrics"][metric]["section"]], experiment["sections"])
            refer(f"figures.{name}.affinity", figure.get("affinity", []), factors["affinity"])
        for name, other in study.get("cross_checks", {}).items():
            refer("cross_checks", [name, other], list(study["metrics"]))
        for name, table in study.get("measured_tables", {}).items():
            refer(f"measured_tables.{name}.experiment", [table["experiment"]], list(study["experiments"]))
            known = [path.stem for path in paths.REFERENCE.glob("*.csv")]
            refer(f"measured_tables.{name}.reference", [table["reference"]], known)

    def check_claim(self, study: dict, claim: dict, refer) -> None:
        """Levels of the cells' factors; a claim may also name others, such as granularity."""
        for side in ("a", "b", "scope"):
            for factor, levels in claim.get(side, {}).items():
                if factor in (*OF_EXPERIMENT, "affinity"):
                    refer(f"{side}.{factor}", levels, list(study["factors"][factor]))

    def wanted(self, study, profile, host, config, unavailable) -> list[tuple[str, dict]]:
        """Every scheme of every hardware setting that an experiment names, at its levels."""
        from plimsoll.splitting import cells

        return cells.wanted(study, profile, host, config, unavailable)

    def described(self, study: dict, host: dict) -> dict:
        """The benchmark, the cores of each socket, and what each instrument can see."""
        return {
            "benchmark": study["benchmark"],
            "sockets": {str(socket): cores for socket, cores in topology.cores_of_sockets(host).items()},
            "instruments": {name: instruments.find(name).settings(host) for name in instruments.known()},
        }

    def shown(self, plan: dict, study: dict, name: str) -> list[dict]:
        """Cells of the figure's experiment, at its levels of affinity and with its metrics' sections; or of a table's."""
        from plimsoll.splitting import cells

        return cells.shown(plan, study, name)

    def unseen(self, plan: dict, study: dict, metrics: list[str]) -> dict[str, str]:
        """Metrics whose instrument sees nothing of them here."""
        from plimsoll.splitting import cells

        return cells.unseen(plan, study, metrics)

    def attempt(self, attempt: Attempt) -> dict:
        """Ranks of the benchmark in the cell's containers."""
        from plimsoll.splitting import run

        return run.attempt(attempt)

    def observations(self, study: dict, row: dict, found: dict) -> list[dict]:
        """Every metric of the cell's section, sizes and instrument that the run has the values for."""
        from plimsoll.splitting import observe

        return observe.observations(study, row, found)

    def run(self, found: dict) -> dict:
        """How the messages went."""
        carried = found.get("transport", {})
        return {
            "transport": carried.get("carried_by"),
            "single_copy": carried.get("single_copy"),
            "network_bytes": carried.get("network_bytes"),
        }

    def measuring(self, observations):
        """Observations of runs without an instrument."""
        return observations[observations["instrument"] == Instrument.name]

    def tests(self, study: dict, observations):
        """Every cell against its references, by the tests of section 4.3; of measuring runs only."""
        from plimsoll.splitting import significance

        variants = {name: runtime.variant_of for name, runtime in runtimes.known().items() if runtime.variant_of}
        return significance.tests(self.measuring(observations), study["baseline"], study["alpha"], variants)

    def asking(self, plan: dict, study: dict):
        """By levels of the factors; schemes by what they mean on this host."""
        from plimsoll.splitting import contrasts

        return contrasts.asking(plan, study)

    def lacks(self, plan: dict) -> dict[str, str]:
        """Memory nodes, where there are none, and what is not sampled."""
        numa = any(cell["hardware"] == "numa" and not cell["reason"] for cell in plan["cells"].values())
        samples = "samples of the core that each rank is on, which Plimsoll does not take"
        return {"core_samples": samples, **({} if numa else {"numa": "two sockets with a memory node each"})}

    def elsewhere(self, claim: dict) -> dict | None:
        """A finding about containers and not about memory nodes can be asked on one socket too."""
        if claim.get("scope", {}).get("hardware") != ["numa"]:
            return None
        return {**claim, "scope": {**claim["scope"], "hardware": ["uma"]}}

    def gather(self, study: dict, plan: dict, name: str, folder, runs) -> None:
        """Every function of an MPI profile."""
        from plimsoll.splitting import profiles

        experiment = study["experiments"][study["figures"][name]["experiment"]]
        if experiment.get("instrument") == "mpi":
            profiles.gather(folder, plan, runs).to_csv(folder / f"figures/{name}.profile.csv", index=False)

    def table(self, study: dict, name: str, folder):
        """Tables 1 and 6 of liu2020."""
        from plimsoll.splitting import measured_tables

        return measured_tables.make(study, name, folder)

    def host_table(self, study: dict, name: str, host: dict, image: dict) -> list[dict]:
        """Tables 2 to 4 of liu2020."""
        from plimsoll.splitting import tables

        return tables.make(study, name, host, image)

    def short(self, path: str, metric: dict) -> str:
        """Without the hardware setting, the usual sizes and the section."""
        return " ".join(part for part in path.split("/")[1:-1] if part not in ("standard",))

    def notebook(self, plan: dict, study: dict, name: str) -> dict:
        """The cores of each socket, and where each cell's ranks go."""
        return {"sockets": plan["sockets"], "of_cell": (*self.sizes, "places")}

    def report(self, folder, study, plan, observations, runs, tests) -> dict:
        """Transports, sizes, tables, tests, and what watching cost."""
        from plimsoll.splitting import report

        return report.content(folder, study, plan, observations, runs, tests)


def _resolve_affinity(source: str, name: str, experiment: dict) -> None:
    """Turn a list of levels for all settings into one a setting; PlimsollError for a level that a setting cannot have."""
    key = f"{source}: experiments.{name}.affinity"
    if isinstance(experiment["affinity"], list):
        experiment["affinity"] = dict.fromkeys(experiment["hardware"], experiment["affinity"])
    if set(experiment["affinity"]) != set(experiment["hardware"]):
        raise PlimsollError(f"{key}: it must give levels for {', '.join(experiment['hardware'])}, and for nothing else.")
    for hardware, levels in experiment["affinity"].items():
        for level in levels:
            if level in affinity.LEVELS and (reason := affinity.refusal(level, hardware)):
                raise PlimsollError(f"{key}: {reason}.")


DESIGNS = (Splitting(),)
