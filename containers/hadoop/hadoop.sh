#!/bin/bash
# A node of a Hadoop cluster: its first process, or a program in it.
#
#   hadoop.sh master|worker CONF LOGS      runs the node's daemons, and ends when one of them does
#   hadoop.sh run CONF CLASS WORDS...      runs a class of Hadoop, or of the job
#
# CONF is the folder of the cluster's configuration; LOGS takes what each daemon says. Daemons and clients have the serial
# collector and no optimising compiler: a cluster is up in half the time. What runs the tasks is in the configuration.
set -u
role=$1 conf=$2
shift 2
export HADOOP_CONF_DIR=$conf
java=(java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.net.preferIPv4Stack=true -Dhadoop.log.dir=/data/log
    -Dyarn.log.dir=/data/log -cp "$conf:/opt/hadoop/pages:/opt/plimsoll/bin/prices.jar:/opt/hadoop/lib/*")

if [ "$role" = run ]; then exec "${java[@]}" -Xmx512m "$@"; fi
logs=$1
mkdir -p /data/log

# NAME MEGABYTES CLASS
daemon() { "${java[@]}" "-Xmx$2m" "-Dplimsoll.logs=$logs" "$3" >"$logs/$1.log" 2>&1 & }

trap 'kill $(jobs -p) 2>/dev/null; wait' TERM
case $role in
master)
    namenode=org.apache.hadoop.hdfs.server.namenode.NameNode
    daemon resourcemanager 512 org.apache.hadoop.yarn.server.resourcemanager.ResourceManager
    cp -r /opt/hadoop/name /data/name
    daemon namenode 512 $namenode
    # It would sleep for ten seconds if it asked too soon.
    until (exec 3<>"/dev/tcp/$HOSTNAME/9000") 2>/dev/null || [ "$(jobs -pr | wc -l)" -lt 2 ]; do sleep 0.1; done
    daemon history 384 org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer
    ;;
worker)
    daemon datanode 384 org.apache.hadoop.hdfs.server.datanode.DataNode
    daemon nodemanager 384 org.apache.hadoop.yarn.server.nodemanager.NodeManager
    ;;
esac
wait -n
echo "a daemon of the $role ended: see $logs" >&2
exit 1
