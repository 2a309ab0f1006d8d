#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# live_levers.sh - paths and time together, for three real MPI jobs on two uplinks, each
# of which has room for one burst at a time: A and B, whose periods are nearly equal, get
# one uplink and take turns there, beside C, which fills the other one nearly always
#
# The leaves' hashes put all three on one uplink.  With LEVERS_ALL=1 the jobs also run
# alone and in observe; the mean iterations are printed (docs/live-demo.md).
# shellcheck disable=SC2034,SC2317  # live_lab.sh uses the variables, check the functions
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
export LIVE_PATHS=1 LIVE_HOST_MBPS=280
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
# A and B send for 40 % of their periods, C for 84 %.
declare -A LIVE_JOBS=([A]="h0,h3 4.2 172" [B]="h1,h4 4.2 174" [C]="h2,h5 5.6 30")

# together MODE SECONDS
together() {
	live_start "$2" A B C && live_collide && live_scheduler "$1"
}

# C's uplink, in this direction, is not that of A and B.
are_apart() {
	local of_c
	of_c=$(live_uplinks "$3")
	[ -n "$of_c" ] && [ "$(live_uplinks "$1")" = "$(live_uplinks "$2")" ] &&
		[ "$(live_uplinks "$1")" != "$of_c" ]
}

have_turns() {
	live_ask /metrics | grep -q '^antiphase_scheduler_orders_total{reason="turn"} [1-9]'
}

live_fabric 2>/dev/null && live_slurm && live_collectors && live_links paths || exit 1
LIVE_OUT=$LAB_DIR/out
mkdir "$LIVE_OUT"
if [ -n "${LEVERS_ALL:-}" ]; then
	for name in A B C; do
		live_scheduler observe && live_start 10 $name && live_wait_jobs 60 || exit 1
		echo "alone:$(live_iterations $name)"
		live_scheduler_stop
	done
	together observe 30 && live_wait_jobs 120 || exit 1
	echo "in observe, on one uplink:$(live_iterations A B C)"
	live_scheduler_stop
fi
together enforce 50 || exit 1
check "all flows are put on chosen paths" lab_wait_for 30 "six flows" live_are_settled 6
check "A and B share an uplink, and C has the other" are_apart h0 h1 h2
check "and on the way back" are_apart h3 h4 h5
check "A and B take turns" lab_wait_for 30 "orders" have_turns
live_wait_jobs 150
check "all jobs end well" test "$(cat "$LIVE_OUT"/done.* | sort | uniq -c | tr -d ' ')" = 30
[ -z "${LEVERS_ALL:-}" ] || echo "in enforce:$(live_iterations A B C)"
live_scheduler_stop
lab_end
