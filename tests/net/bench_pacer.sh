#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench_pacer.sh - the cost of the pacer for a job without contention.  The same Open
# MPI job runs on its own fabric, with collectors and antiphase-scheduler in enforce,
# alternately with the pacer and without (with, without, without, with, ...); compares
# the iteration times.  PAIRS (8) of runs of ITERATIONS (70); fails if the job ever
# waited.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/live_lab.sh
. "$(dirname "$0")/live_lab.sh"
PAIRS=${PAIRS:-8} ITERATIONS=${ITERATIONS:-70}
lab_begin
lab_need root netns veth bridge htb cgroup2 btf openmpi
# Other load of this machine must not count as the pacer's cost.
renice -n -5 $$ >/dev/null
mkdir "$LAB_DIR/out"
live_fabric || exit 1
# The job's hosts.
LIVE_HOSTS=(h0 h3)
{ live_collectors && live_scheduler enforce; } || exit 1

# with|without NUMBER: 40 ms of computing, then 1 MB in each direction.
run() {
	local how=$1 number=$2 job
	job=system.slice/slurmstepd.scope/job_$((5000 + number))/step_0
	lab_job "$job" >/dev/null
	(
		if [ "$how" = with ]; then
			export LD_PRELOAD=$LAB_B/libantiphase-pacer.so ANTIPHASE_VERBOSE=1
			export ANTIPHASE_ENDPOINT=$LAB_DIR/h0.run/sockets/pacer.sock
		fi
		lab_mpi "$job" "$LAB_DIR/out/truth.$how.$number" h0,h3 "$ITERATIONS" 1 40 0
	) >"$LAB_DIR/out/out.$how.$number" 2>&1 || {
		tail -n 5 "$LAB_DIR/out/out.$how.$number" >&2
		return 1
	}
	lab_job_gone "$job"
}

for ((pair = 0; pair < PAIRS; pair++)); do
	if ((pair % 2)); then
		run without "$pair" && run with "$pair"
	else
		run with "$pair" && run without "$pair"
	fi || exit 1
done
orders=$(live_ask /metrics | awk '/^antiphase_scheduler_orders_total/ { n += $2 } END { print n + 0 }')
python3 "$LAB_ROOT/tests/net/bench_pacer.py" "$LAB_DIR/out" "$PAIRS" "$orders" || LAB_FAILED=1
lab_end
