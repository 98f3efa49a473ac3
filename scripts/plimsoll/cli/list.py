"""`plimsoll list`."""

from plimsoll.cli import options, place


def list_(
    studies: options.Studies = None,
    profile: options.Profile = None,
    directory: options.Directory = None,
    config: options.Config = None,
    json: options.AsJson = False,
) -> None:
    """List studies, runtimes, figures and tables, each with its state.

    A cell is measured when it has a run that counts. The list is quick, and needs no engine.

    Examples:
      plimsoll list                # the studies of config/config.yaml
      plimsoll list all
      plimsoll list liu2020 --json
    """
    from plimsoll import designs
    from plimsoll.terminal import machine, screen

    settings = options.settings(studies, profile, config)
    place.enter(directory)
    found = machine.collect(designs.known(), settings)
    screen.tell(lambda width: _json(found) if json else machine.text(found, settings, width))


def _json(found) -> str:
    """Return what was found as JSON: studies with numbers, and the rows of each section by their heads."""
    import json

    from plimsoll.terminal import listing

    def rows(section: listing.Section) -> list[dict]:
        return [dict(zip(("name", *section.head[1:]), row, strict=True)) for row in section.rows]

    whole = listing.wholes(found.plans, found.there, found.profile)
    told = {
        "profile": found.profile,
        "studies": [
            {"name": one.name, **one.state._asdict(), "seconds_left": one.seconds, "command": one.command} for one in whole
        ],
        "runtimes": rows(found.whole()[1]),
        "of_study": {name: {section.head[0]: rows(section) for section in found.sections(name)} for name in found.studies},
    }
    return json.dumps(told, indent=1)
