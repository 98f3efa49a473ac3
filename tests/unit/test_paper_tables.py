"""A paper's rows with ours beside them."""

import pandas as pd
from plimsoll.analysis import tables

PRINTED = pd.DataFrame({"runtime": ["docker", "vm", "bare", "lxc"], "cores": [1, 1, 2, 1], "paper_mean": [1.0, 2.0, 3.0, 4.0]})
OURS = pd.DataFrame({"cores": [2, 1, 2], "runtime": ["bare", "docker", "vm"], "n": [3, 5, 7], "mean": 9.0, "sd": 0.1})
KEYS = ["runtime", "cores"]


def test_each_row_of_a_paper_has_ours_or_a_reason():
    reasons = {("vm", 1): "no hypervisor", ("bare", 2): "no bare metal", ("docker", 1): None, ("lxc", 1): None}
    table = tables.beside(PRINTED, OURS, KEYS, ["n", "mean"], reasons)
    assert list(table) == [*PRINTED, "n", "mean", "not_here"]
    assert list(table["not_here"]) == ["", "no hypervisor", "", "no run of it counts"]
    assert table["n"].fillna(0).tolist() == [5, 0, 3, 0] and table["paper_mean"].tolist() == [1, 2, 3, 4]
    del reasons["lxc", 1]
    assert tables.beside(PRINTED, OURS, KEYS, ["n"], reasons)["not_here"].iloc[3] == "the configuration leaves it out"
