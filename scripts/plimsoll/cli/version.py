"""`plimsoll version`."""


def version() -> None:
    """Print the version.

    Examples:
      plimsoll version
    """
    import tomllib

    from plimsoll import paths

    print(f"plimsoll {tomllib.loads((paths.PROJECT / 'pyproject.toml').read_text())['project']['version']}")
