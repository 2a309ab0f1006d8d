#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# live_orders.sh - the connections of three real MPI jobs are put on chosen paths; they
# stay there when antiphase-scheduler is killed, are found again by the next one, which
# has the same paths for them and gives no order, and get their own ports back in observe
# and with the kill switch.  The jobs do not notice.
# shellcheck disable=SC2317  # functions are called by name
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
# shellcheck source=tests/net/live_lab.sh
. "$(dirname "$0")/live_lab.sh"
export LIVE_PATHS=1
lab_begin
lab_need root netns veth bridge htb clsact cgroup2 btf tcx openmpi slurm
if [ ! -e "$LAB_B/spank_antiphase.so" ]; then
	skip "everything" "Slurm's header spank.h is not installed"
	lab_end
fi
LIVE_OUT=$LAB_DIR/out
mkdir "$LIVE_OUT"

have_own_ports() {
	[ -z "$(live_entries)" ]
}

# Six flows are both directions of three connections.
live_fabric 2>/dev/null && live_slurm && live_collectors && live_links paths || exit 1
live_submit A h0,h3 320 4.2 45 0.02 1 0 1@0 1 meet >/dev/null
live_submit B h1,h4 240 5.6 62 0.02 1 0 1@0 2 meet >/dev/null
live_submit C h2,h5 432 3.1 34 0.02 1 0 1@0 3 meet >/dev/null
lab_wait_for 30 "the jobs" live_are_ready 6
check "their connections collide" live_collide
# Not before: what probes find out is kept, and another seed would make it wrong.
live_scheduler enforce || exit 1
live_connections >"$LAB_DIR/before"
check "all flows are put on chosen paths" lab_wait_for 20 "six flows" live_are_settled 6
live_entries >"$LAB_DIR/entries"
lab_stop scheduler KILL
sleep 2
check "they stay there without a scheduler" test "$(live_entries)" = "$(cat "$LAB_DIR/entries")"
LIVE_STORE=kept live_scheduler enforce
check "the next scheduler finds them" lab_wait_for 30 "six flows" live_are_settled 6
check "and gives no order" test "$(live_path_orders)" = 0
check "they have the same ports" test "$(live_entries)" = "$(cat "$LAB_DIR/entries")"
live_ctl mode observe >/dev/null
check "in observe they get their own ports back" lab_wait_for 20 "own ports" have_own_ports
live_ctl mode enforce >/dev/null
check "and paths again in enforce" lab_wait_for 30 "six flows" live_are_settled 6
touch "$LAB_DIR/stop"
check "the kill switch undoes all" lab_wait_for 20 "own ports" have_own_ports
check "no connection was opened again" test "$(live_connections)" = "$(cat "$LAB_DIR/before")"
live_wait_jobs 150
check "all jobs end well" test "$(cat "$LIVE_OUT"/done.* | sort | uniq -c | tr -d ' ')" = 30
live_scheduler_stop
lab_end
