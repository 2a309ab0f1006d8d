#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nsrsh.sh [-OPTION...] HOST COMMAND... - what Open MPI takes for ssh: a host is a
# network namespace of the lab, with a host name of its own, and what is started there
# is in the job's cgroup.  From the environment: LAB, LAB_JOB_CGROUP.
while [[ $1 == -* ]]; do shift; done
host=$1
shift
echo $$ >"$LAB_JOB_CGROUP/cgroup.procs" || exit
# Like ssh, the words are joined, and a shell there takes them apart again.
exec nsenter --net="/run/netns/$LAB-$host" -- unshare -u \
	sh -c "hostname $host && $*"
