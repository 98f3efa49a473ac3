"""Levels and cells of a study of nesting in words: 4 parents with a child each."""

from plimsoll import environments
from plimsoll.designs.nesting.factors import CPU, NO_CHILDREN, PRELOADED
from plimsoll.pages.glossary import Term

TASKS = {"cpu": "a program in each", "creation": "created", PRELOADED: "created, the child's image being there"}

GLOSSARY = (
    Term(
        "instances at once",
        "Containers, nested containers, or copies of a program on bare metal, that are started together.",
        ("instances", "instance"),
    ),
    Term("parent", "A container with an engine of its own, in which other containers run: its children.", ("parents",)),
    Term("child", "A container in a container: a nested container.", ("children", "nested container", "nested containers")),
    Term(
        "creation time",
        "From the command that creates a container to the container's end, with a program in it that ends at once; of several, "
        "until the last one has ended.",
        ("creation times",),
    ),
    Term("slowdown", "How many times as long a program takes as one instance on bare metal.", ("slowdowns",)),
)


def level(factor: str, name: str) -> str:
    """A level of a factor for people; a name that has no words of its own stays as it is."""
    if factor == "runtime" and name in environments.known():
        return environments.find(name).label
    if factor == "task":
        return TASKS.get(name, name)
    if factor == "instances" and name.isdigit():
        return f"{name} instance{'' if name == '1' else 's'}"
    if factor == "children" and name.isdigit():
        return "not nested" if name == NO_CHILDREN else f"{name} child{'' if name == '1' else 'ren'} in each"
    return name.replace("_", " ")


def cell(path: str, metric: dict) -> str:
    """A cell for people: where, and how many."""
    task, runtime, instances, children = path.split("/")
    name = level("runtime", runtime)
    if children == NO_CHILDREN or task == CPU:
        words = f"{name}, {level('instances', instances)}"
    else:
        words = f"{name}, {instances} parent{'' if instances == '1' else 's'}, {level('children', children)}"
    return f"{words}, the child's image being there" if task == PRELOADED else words


def row(levels: dict[str, str], path: str | None) -> str:
    """A row of the study's answer: its levels."""
    return ", ".join(level(factor, name) for factor, name in levels.items())
