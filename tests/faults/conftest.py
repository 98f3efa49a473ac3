"""The scenes read and write the files of all studies and claims, which takes long without libyaml."""

import pytest
import yaml


@pytest.fixture(scope="package", autouse=True)
def by_libyaml():
    """Let `yaml.safe_load` and `yaml.safe_dump` use libyaml in the tests of this folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml, "SafeLoader", yaml.CSafeLoader)
        patch.setattr(yaml, "SafeDumper", yaml.CSafeDumper)
        yield
