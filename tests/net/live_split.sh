#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# live_split.sh - real MPI jobs with two connections to each peer: antiphase-scheduler
# finds out that there are two, and puts them on paths so that both spines carry the same;
# the next scheduler after a kill -9 leaves all of them where they are.
#
# Three jobs send at 190 Mb/s over two uplinks of 300 Mb/s, so two whole jobs on one
# uplink are too much for it, and halves are not.  With SPLIT_ALL=1 the same jobs also run
# alone, with one connection on the chosen path, and with two where hashing puts them;
# the mean iterations are printed (docs/live-demo.md).  SPLIT_SECONDS: of each run.
# shellcheck disable=SC2034  # live_lab.sh uses the variables
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
export LIVE_PATHS=1 LIVE_HOST_MBPS=190 LIVE_INTERFACES=e0,s0 LIVE_EAGER=65536
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
# shellcheck source=tests/net/live_lab.sh
. "$(dirname "$0")/live_lab.sh"
lab_begin
lab_need root netns veth bridge htb clsact cgroup2 btf tcx openmpi slurm
if [ ! -e "$LAB_B/spank_antiphase.so" ]; then
	skip "everything" "Slurm's header spank.h is not installed"
	lab_end
fi
seconds=${SPLIT_SECONDS:-80}

# Name, hosts, MB and ms of computing, as in the case 'paths' of demo_plan.py.
declare -A LIVE_JOBS=([A]="h0,h3 4.2 45" [B]="h1,h4 5.6 62" [C]="h2,h5 3.1 34")

# run WHAT MODE INTERFACES JOB...: for the figures only.
run() {
	local what=$1 mode=$2
	LIVE_INTERFACES=$3
	shift 3
	live_scheduler "$mode" && live_start "$seconds" "$@" && live_wait_jobs $((3 * seconds)) || exit 1
	echo "$what:$(live_iterations "$@")"
	live_scheduler_stop
}

# The share of the first uplink of a leaf, in percent of what both have sent since the
# file was written.
sent() {
	echo "$(lab_bytes "$1" up0 tx) $(lab_bytes "$1" up1 tx)"
}

share() {
	sent "$1" | paste -d ' ' - "$LAB_DIR/sent.$1" | awk '{
		first = $1 - $3; second = $2 - $4
		printf "%.1f\n", 100 * first / (first + second) }'
}

# Open MPI opens them one after the other.
has_six() {
	[ "$(live_connections | wc -l)" = 6 ]
}

live_fabric 2>/dev/null && live_slurm && live_collectors && live_links paths || exit 1
LIVE_OUT=$LAB_DIR/out
mkdir "$LIVE_OUT"
if [ -n "${SPLIT_ALL:-}" ]; then
	for name in A B C; do
		run "alone, one connection" observe e0 $name
		run "alone, two connections" observe e0,s0 $name
	done
	run "one connection, chosen" enforce e0 A B C
	run "two connections, hashed" observe e0,s0 A B C
fi
LIVE_INTERFACES=e0,s0
live_scheduler enforce || exit 1
live_start "$seconds" A B C || exit 1
check "the jobs have two connections each" lab_wait_for 20 "six connections" has_six
live_connections >"$LAB_DIR/before"
check "all are put on chosen paths" lab_wait_for 30 "twelve flows" live_are_settled 12
for leaf in leaf0 leaf1; do
	sent $leaf >"$LAB_DIR/sent.$leaf"
done
sleep 5
for leaf in leaf0 leaf1; do
	near "share of the first uplink of $leaf, in percent" "$(share $leaf)" 50 20
done
live_entries >"$LAB_DIR/entries"
lab_stop scheduler KILL
LIVE_STORE=kept live_scheduler enforce
check "the next scheduler finds them" lab_wait_for 30 "twelve flows" live_are_settled 12
check "and gives no order" test "$(live_path_orders)" = 0
check "they have the same ports" test "$(live_entries)" = "$(cat "$LAB_DIR/entries")"
check "no connection was opened again" test "$(live_connections)" = "$(cat "$LAB_DIR/before")"
live_wait_jobs $((3 * seconds))
check "all jobs end well" test "$(cat "$LIVE_OUT"/done.* | sort | uniq -c | tr -d ' ')" = 30
[ -z "${SPLIT_ALL:-}" ] || echo "two connections, chosen:$(live_iterations A B C)"
live_scheduler_stop
lab_end
