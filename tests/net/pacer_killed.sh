#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pacer_killed.sh - a real Open MPI job with libantiphase-pacer.so, while its collector
# and antiphase-scheduler are killed (SIGKILL) and restarted again and again at random
# times: the job ends well, and its iterations take as long as without both
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns cgroup2 openmpi
job=system.slice/slurmstepd.scope/job_4711/step_0
lab_node n0
lab_job $job >/dev/null
bus=$(lab_endpoint n0)
orders=ipc://$LAB_DIR/orders.sock
RANDOM=${SEED:-1}

start_collector() {
	lab_spawn n0 lab_in n0 antiphase-collector --host n0 --metrics none \
		--runtime-dir "$LAB_DIR/n0.run" --endpoint "$bus" --source netlink \
		--interface lo --pacer-orders "$orders" --job-roots "/$LAB"
}
start_scheduler() {
	lab_spawn sched lab_in n0 antiphase-scheduler --runtime-dir "$LAB_DIR/n0.run" \
		--bus "$bus" --announce "$orders" --topology none --mode enforce \
		--store "$LAB_DIR/history.db" --kill-switch "$LAB_DIR/stop" --http none
}
# TAG [SETTING...]: three ranks over loopback, 150 iterations of 60 ms and more.
train() {
	local tag=$1
	shift
	lab_in_job $job nsenter --net="/run/netns/$LAB-n0" -- \
		env TMPDIR="$LAB_DIR" "$@" timeout --kill-after=5 60 \
		mpirun --allow-run-as-root --oversubscribe --bind-to none \
		--mca orte_tmpdir_base "$LAB_DIR" --mca btl tcp,self --mca pml ob1 \
		--mca btl_tcp_if_include lo --mca oob_tcp_if_include lo \
		--mca mpi_yield_when_idle 1 -np 3 \
		"$LAB_B/tests/net/arl" "$LAB_DIR/$tag.truth" 150 0.4 60 0 \
		>"$LAB_DIR/$tag.log" 2>&1
}
# Median and maximum of its iterations, in ms.
periods() {
	awk '{ print $3 }' "$LAB_DIR/$1.truth" | python3 -c '
import statistics, sys
at = [float(line) for line in sys.stdin][10:]
spans = [1e3 * (b - a) for a, b in zip(at, at[1:])]
print("%.3f %.1f" % (statistics.median(spans), max(spans)))'
}

# Kills the collector and antiphase-scheduler while a process runs; counts in 'kills'.
kill_during() {
	kills=0
	while kill -0 "$1" 2>/dev/null; do
		sleep "0.$((RANDOM % 7 + 1))"
		lab_stop n0 KILL
		[ $((RANDOM % 4)) != 0 ] || sleep "0.$((RANDOM % 9))"
		start_collector
		if [ $((RANDOM % 2)) = 0 ]; then
			lab_stop sched KILL
			start_scheduler
		fi
		kills=$((kills + 1))
	done
}

check "a job without any of them ends well" train plain
mkdir -p "$LAB_DIR/n0.run"
start_collector
start_scheduler
train killed LD_PRELOAD="$LAB_B/libantiphase-pacer.so" ANTIPHASE_VERBOSE=1 \
	ANTIPHASE_ENDPOINT="$LAB_DIR/n0.run/sockets/pacer.sock" &
mpi=$!
kill_during $mpi
check "one whose collector is killed $kills times, and the scheduler with it, ends well" wait $mpi
check "that many are many" test $kills -ge 8
check "and its iterations are all there" test "$(wc -l <"$LAB_DIR/killed.truth")" = \
	"$(wc -l <"$LAB_DIR/plain.truth")"
# Starting daemons again takes time from a job without the pacer, too.
train plain2 &
mpi=$!
kill_during $mpi
check "one without the pacer beside as many kills ($kills) ends well" wait $mpi
read -r before longest_plain <<<"$(periods plain)"
read -r after _ <<<"$(periods plain2)"
read -r with longest <<<"$(periods killed)"
check "its iterations take as long, up to 5 % ($with ms, $before alone and $after without the pacer; the longest $longest, and $longest_plain)" \
	awk "BEGIN { exit !($with <= 1.05 * ($before > $after ? $before : $after)) }"
check "it waited for nobody" grep -q ' 0 waits' "$LAB_DIR/killed.log"
# Each new collector is found within the time that there was none.
read -r sent lost <<<"$(sed -n 's/^antiphase: .*, \([0-9]*\) packets sent, \([0-9]*\) lost.*/\1 \2/p' \
	"$LAB_DIR/killed.log")"
check "most of what it told found a collector ($sent packets sent, $lost lost)" \
	test "$sent" -gt "$lost"
lab_stop sched
lab_stop n0
lab_end
