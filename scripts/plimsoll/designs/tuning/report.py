"""This design's part of a study's page: names, the jobs and their data, the tables, and what each strategy changes."""

from pathlib import Path

import pandas as pd

from plimsoll import design, runtimes
from plimsoll.designs.tuning.factors import TuningRecord
from plimsoll.designs.tuning.strategies import parts
from plimsoll.interchange import Plan
from plimsoll.measuring import plan_file, record, status
from plimsoll.pages import study_tables
from plimsoll.pages.glossary import Term
from plimsoll.pages.report import Sources


class Report(design.Report):
    """Page of a study of tuning."""

    TEMPLATE = "tuning/report.html.j2"
    GLOSSARY = (
        Term("strategy", "Settings of Hadoop, or a number of workers, that are meant to make a job faster.", ("strategies",)),
        Term("spill", "A map task that fills its buffer sorts what is in it and writes it to the disk.", ("spills", "spilled")),
        Term(
            "negative control",
            "Something that is known to do nothing, measured like the rest: an effect of it would be a fault of the "
            "measurement.",
        ),
        Term(
            "interaction",
            "How much more two strategies change a time together than each of them alone would let expect.",
            ("interactions",),
        ),
    )

    def level(self, factor: str, name: str) -> str:
        """Return a level of a factor for people. A name without words of its own is kept, with blanks for underscores."""
        if factor == "runtime" and name in runtimes.known():
            return runtimes.find(name).label
        return strategy_words(name) if factor == "strategy" else name.replace("_", " ")

    def cell_label(self, path: str, metric: dict) -> str:
        """Return a cell for people: where it runs, and what is set."""
        runtime, strategy = path.split("/")
        return f"{self.level('runtime', runtime)}, {self.level('strategy', strategy)}"

    def content(
        self, sources: Sources, study: dict, plan: Plan, observations: pd.DataFrame, runs: pd.DataFrame, tests: pd.DataFrame
    ) -> dict:
        """Return this design's variables of the page's template."""
        image = plan_file.image(sources.image)
        measurable = [cell for cell in plan["cells"].values() if cell["reason"] is None]
        return {
            "programs": image["files"],
            "versions": image["versions"],
            "node_megabytes": next((cell["parameters"]["node_megabytes"] for cell in measurable), None),
            "cluster_hosts": plan.get("cluster_hosts", []),
            "data": data(sources.plan.parent, runs),
            "tables": tables(sources.tables, study),
            "statistics": readable(tests).to_dict("records"),
        }


def data(folder: Path, runs: pd.DataFrame) -> list[dict]:
    """Return one row per size of data: bytes, records, distinct records and map tasks, from the first runs that count."""
    valid = runs[runs["status"] == status.VALID]
    found: dict[str, dict] = {}
    for row in valid.itertuples():
        if len(found) == 2:
            break
        try:
            recorded = record.read(
                record.path_of(folder / "runs", f"{row.runtime}/{row.strategy}", row.repetition), TuningRecord
            )
        except record.DamagedFile:
            continue
        for job in recorded.get("jobs", []):
            found.setdefault(job["size"], {key: job[key] for key in ("size", "bytes", "records", "distinct", "maps")})
    return list(found.values())


def tables(folder: Path, study: dict) -> list[dict]:
    """Return the study's tables as rows for the page, with the names of their columns."""
    return [
        {**told, "columns": list(made), "rows": readable(made).to_dict("records")}
        for told, made in study_tables.of_study(folder, study)
    ]


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with empty cells where there is no value, and with strategies in words."""
    for column in ("strategy", "effect"):
        if column in table:
            table = table.assign(**{column: [strategy_words(str(name)) for name in table[column]]})
    return study_tables.without_gaps(table)


def strategy_words(name: str) -> str:
    """Return a strategy for people."""
    return " and ".join(part.replace("_", " ").replace("lzo", "LZO").replace("lz4", "LZ4") for part in parts(name))
