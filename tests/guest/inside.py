"""Program in the guest: plan as for any host, measure the cells of the inputs, and print one line of JSON per cell.

An emulated processor is slow. So only what these cells need is planned, and every run reads a plan of these cells only.
"""

import json
import sys
from pathlib import Path

from plimsoll import designs, measure
from plimsoll.config.studies import Study
from plimsoll.host import capabilities, machine_lock
from plimsoll.host import inventory as hosts
from plimsoll.measuring import record
from plimsoll.planning import planner


def main() -> None:
    """Read the inputs that the host made (study, profile, configuration, image, experiments, paths of cells), and measure."""
    inputs = json.loads(Path(sys.argv[1]).read_text())
    # Nothing was measured here before, and no cell counts events. Each additional process takes a second.
    machine_lock.note_sweep(True)
    capabilities.counters = dict
    host = hosts.here()
    print("NODES", json.dumps([{key: node[key] for key in ("cpus", "distances")} for node in host["nodes"]]), flush=True)
    study = Study(inputs["study"], designs.find(inputs["study"]["design"]))
    given = study["experiments"]
    study["experiments"] = {name: {**given[name], **short} for name, short in inputs["experiments"].items()}
    made = planner.make(study, inputs["profile"], host, inputs["config"], {})
    made["cells"] = {path: made["cells"][path] for path in inputs["cells"]}
    made["order"] = [(path, 1) for path in inputs["cells"]]
    for cell in made["cells"].values():
        cell["parameters"]["order"] = 200
        cell["time_limit_seconds"] = 300
    # An emulated machine is slow and its host may be busy. The tests only check where the ranks were.
    made["limits"] = {
        "attempts": 1,
        "starts": 1,
        "idle": {"busy_share": 1.0, "window_seconds": 0.01, "wait_seconds": 0},
        "neighbours": {"share": 1.0, "seconds": 1000},
    }
    folder = Path("/run/results")
    folder.mkdir()
    (folder / "image.json").write_text(json.dumps(inputs["image"]))
    (folder / "plan.json").write_text(json.dumps(made))
    for path, cell in made["cells"].items():
        target = record.path_of(folder / "runs", path, 1)
        found = measure.measure(folder / "plan.json", path, 1, target, folder / "image.json")
        ranks = [(rank["cpus_allowed"], rank["mems_allowed"]) for rank in found.get("ranks", [])]
        answer = {"path": path, "status": found["status"], "reason": found["reason"], "ranks": ranks, "places": cell["places"]}
        print("RECORD", json.dumps(answer), flush=True)


main()
