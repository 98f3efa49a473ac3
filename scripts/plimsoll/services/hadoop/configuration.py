"""The configuration of a cluster: Hadoop's defaults with a few changes.

They are what containers need without Hadoop's start scripts, and what keeps the cluster's memory within the host's.
"""

from pathlib import Path
from xml.sax.saxutils import escape

HADOOP = "/opt/hadoop/lib/*"
# Folder on a volume of each node, for what the node stores and for what its tasks write.
DATA = "/data"
# Size of an HDFS block, which is also the part that one map task reads (bytes; Hadoop's default).
BLOCK_BYTES = 128 * 2**20
# After this time without a message a worker counts as lost; a worker also has this long to end a task (s). Hadoop's own
# ten and three minutes are longer than a run.
LOST_SECONDS = 15
LOG4J = """log4j.rootLogger=INFO,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
"""


def properties(master: str, node_megabytes: int) -> dict[str, dict[str, str]]:
    """Return the configuration: (key, value) pairs by file name without its ending.

    `master` is the host name of the master, `node_megabytes` the memory that the tasks of a worker may request.
    """
    return {
        "core-site": {
            "fs.defaultFS": f"hdfs://{master}:9000",
            "hadoop.tmp.dir": f"{DATA}/tmp",
            "hadoop.http.staticuser.user": "root",
        },
        "hdfs-site": _hdfs(),
        "yarn-site": _yarn(master, node_megabytes),
        "mapred-site": _mapreduce(master),
        "capacity-scheduler": {
            "yarn.scheduler.capacity.root.queues": "default",
            "yarn.scheduler.capacity.root.default.capacity": "100",
            "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
        },
    }


def _hdfs() -> dict[str, str]:
    return {
        "dfs.namenode.name.dir": f"file://{DATA}/name",
        "dfs.datanode.data.dir": f"file://{DATA}/data",
        "dfs.namenode.rpc-bind-host": "0.0.0.0",
        # The addresses of containers cannot be resolved back into names.
        "dfs.namenode.datanode.registration.ip-hostname-check": "false",
        "dfs.permissions.enabled": "false",
        # The same number of copies for two and four workers: Hadoop's default of three would make four workers
        # write one copy more.
        "dfs.replication": "2",
        "dfs.client.block.write.replace-datanode-on-failure.policy": "NEVER",
        "dfs.namenode.safemode.extension": "0",
        "dfs.blocksize": str(BLOCK_BYTES),
    }


def _yarn(master: str, node_megabytes: int) -> dict[str, str]:
    return {
        "yarn.resourcemanager.hostname": master,
        "yarn.resourcemanager.connect.retry-interval.ms": "1000",
        "yarn.nm.liveness-monitor.expiry-interval-ms": str(1000 * LOST_SECONDS),
        "yarn.client.nodemanager-connect.max-wait-ms": str(1000 * LOST_SECONDS),
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.local-dirs": f"{DATA}/local",
        # Tasks' logs outlive the cluster: hadoop.sh sets the folder.
        "yarn.nodemanager.log-dirs": "${plimsoll.logs}/tasks",
        "yarn.nodemanager.resource.memory-mb": str(node_megabytes),
        "yarn.scheduler.maximum-allocation-mb": str(node_megabytes),
        # A JVM reserves far more addresses than it uses.
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99",
        "yarn.application.classpath": HADOOP,
    }


def _mapreduce(master: str) -> dict[str, str]:
    return {
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": HADOOP,
        "mapreduce.jobhistory.address": f"{master}:10020",
        "mapreduce.jobhistory.webapp.address": f"{master}:19888",
        "yarn.app.mapreduce.am.staging-dir": "/staging",
        "yarn.app.mapreduce.am.command-opts": "-Xmx1024m -XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        # Hadoop's default, stated explicitly. Otherwise it follows from the heap, and one megabyte too many is
        # rounded up to 2048.
        "mapreduce.map.memory.mb": "1024",
        "mapreduce.reduce.memory.mb": "1024",
        "mapreduce.map.java.opts": "-Xmx800m -XX:+UseSerialGC",
        "mapreduce.reduce.java.opts": "-Xmx800m -XX:+UseSerialGC",
        # Second copies of tasks that seem slow would be noise.
        "mapreduce.map.speculative": "false",
        "mapreduce.reduce.speculative": "false",
        "mapreduce.client.submit.file.replication": "2",
    }


def write(folder: Path, master: str, node_megabytes: int) -> None:
    """Write the configuration files of a cluster into a new folder."""
    folder.mkdir()
    for name, values in properties(master, node_megabytes).items():
        rows = (f"<property><name>{key}</name><value>{escape(value)}</value></property>" for key, value in values.items())
        (folder / f"{name}.xml").write_text("\n".join(["<configuration>", *rows, "</configuration>", ""]))
    (folder / "log4j.properties").write_text(LOG4J)
