#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nsrsh.sh [-OPTION...] HOST COMMAND... - Open MPI's replacement for ssh: a host is a
# network namespace of the lab with its own host name, and its processes are in the
# job's cgroup. From the environment: LAB, LAB_JOB_CGROUP.
while [[ $1 == -* ]]; do shift; done
host=$1
shift
echo $$ >"$LAB_JOB_CGROUP/cgroup.procs" || exit
# Like ssh, joins the words, and a shell there splits them again.
exec nsenter --net="/run/netns/$LAB-$host" -- unshare -u \
	sh -c "hostname $host && $*"
