"""Singularity instances as their processes show them."""

import os

from plimsoll.host import processes
from plimsoll.runtimes import apptainer_instance

from tests.conftest import begun

# As Apptainer 1.4 starts the first process of an instance, shortened.
CONFIGURED = b'{"engineName":"apptainer","containerID":"plimsoll-7873cc9fc6-c0","engineConfig":{}}'
OF_INSTANCE = {b"APPTAINER_MESSAGELEVEL": b"91", b"ENGINE_CONFIG1": CONFIGURED, b"ENGINE_CONFIG_CHUNKS": b"1"}


def test_the_processes_of_an_instance_name_it():
    assert apptainer_instance.instance_name(OF_INSTANCE) == "plimsoll-7873cc9fc6-c0"
    first = {b"ENGINE_CONFIG1": CONFIGURED.replace(b"apptainer", b"singularity")}
    assert apptainer_instance.instance_name(first) == "plimsoll-7873cc9fc6-c0"
    unnamed = {b"ENGINE_CONFIG1": CONFIGURED.replace(b"plimsoll-7873cc9fc6-c0", b"")}
    for other in ({}, {b"PATH": b"/bin", b"HOME": b"/root"}, {b"XENGINE_CONFIG1": CONFIGURED}, unnamed):
        assert apptainer_instance.instance_name(other) == ""


def test_the_variables_of_a_process_are_those_that_it_was_started_with():
    started = begun(["sleep", "60"], env={"A": "1=2", "B": ""})
    try:
        assert started.pid in processes.numbers() and os.getpid() in processes.numbers()
        found = processes.environment(started.pid)
        assert (found[b"A"], found[b"B"]) == (b"1=2", b"")
    finally:
        started.kill()
        started.wait()
    assert processes.environment(started.pid) == {}
