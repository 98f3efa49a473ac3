"""Run the workflow on each of several hosts, as on one machine: snakemake -s rules/cluster.smk (docs/how-to/cluster.md).

It includes none of the other rules. They are about the machine on which they run, and this may be a login node.
"""

import re
import sys
from pathlib import Path

# The package is beside these rules, whatever the working directory is.
sys.path.insert(0, str(Path(workflow.current_basedir).parent / "scripts"))

from plimsoll.host import temporary

# This comes first: all that follows takes long enough to be killed in.
temporary.note(workflow.snakemake_tmp_dir)
temporary.remove_of_killed()

from plimsoll import code, designs, paths
from plimsoll.features.hosts import host_check, slurm


configfile: paths.source("config/cluster.yaml")


paths.use_this_python()
HOSTS, NODES = host_check.of_configuration(config)


wildcard_constraints:
    **dict.fromkeys(("host", "one", "other"), "|".join(map(re.escape, HOSTS.named))),


onstart:
    host_check.hold_folder()


# The page is made if the targets include verdicts.
rule hosts:
    input:
        [host.done for host in HOSTS.named.values()],
        ["hosts/findings.html"] if HOSTS.judged else [],


# The images are written once for all hosts, which take them from there. `images` in the configuration names a file that
# was written elsewhere.
rule image_file:
    output:
        "hosts/images.tar.gz",
    log:
        "hosts/logs/images.log",
    localrule: True
    params:
        settings=HOSTS.image_settings,
    shell:
        "python -m plimsoll image-file --output {output} {params.settings:q} 2> >(tee {log} >&2)"


# Each host is one job. Its only output for Snakemake is the mark that the host is done. Snakemake deletes the output of
# a failed job, but measurements must stay: the next start continues from them.
rule measure_host:
    input:
        images=HOSTS.images,
    output:
        "hosts/{host}/done.json",
    log:
        "hosts/{host}/measuring.log",
    threads: lambda wildcards: NODES[wildcards.host].cpus
    resources:
        slurm_extra=lambda wildcards: slurm.options(HOSTS.named[wildcards.host]),
        mem_mb=lambda wildcards: NODES[wildcards.host].memory,
        runtime=lambda wildcards: HOSTS.named[wildcards.host].minutes,
    params:
        command=lambda wildcards: HOSTS.command(wildcards.host),
    # Only the measuring process runs here. A process that writes the log, or a shell that waits, might end first. Then
    # the job would end before the measuring process has cleaned up.
    shell:
        "exec {params.command} >>{log} 2>&1"


# Two hosts are compared cell by cell. It is an answer too that something is worse on the other host, or that they
# cannot be compared: the page says so. Without a page the command failed.
rule compare_pair:
    input:
        "hosts/{one}/done.json",
        "hosts/{other}/done.json",
    output:
        "hosts/compare/{one}--{other}/compare.txt",
    localrule: True
    params:
        code=lambda wildcards: code.digest("features.compare.compare.compare", tuple(sorted(designs.known()))),
        folder="hosts/compare/{one}--{other}",
    shell:
        "rm -f {params.folder:q}/compare.html; python -m plimsoll.cli compare hosts/{wildcards.one:q}/results hosts/{wildcards.other:q}/results --force --out {params.folder:q} --directory ."
        " >{output} 2>&1 || [ -e {params.folder:q}/compare.html ]"


# All hosts beside the reference measurements and the claims of the papers. The page links to the comparisons of pairs
# that are there.
rule compare_hosts:
    input:
        [host.done for host in HOSTS.named.values()],
        [f"hosts/compare/{one}--{other}/compare.txt" for one, other in HOSTS.pairs],
    output:
        page="hosts/findings.html",
        table="hosts/findings.csv",
    log:
        "hosts/logs/findings.log",
    localrule: True
    params:
        code=lambda wildcards: code.digest("features.hosts.stages._compare_hosts", tuple(sorted(designs.known()))),
        folders=[host.place for host in HOSTS.named.values()],
    shell:
        "python -m plimsoll compare-hosts --page {output.page} --table {output.table} {params.folders:q} 2> >(tee {log} >&2)"
