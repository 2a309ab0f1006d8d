#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# steer_live.sh - two real MPI jobs under a real Slurm contend for an uplink under
# antiphase-scheduler: orders arrive and are followed, and jobs end well whichever
# daemon is killed.  'make demo-live' measures the gain.
# shellcheck disable=SC2317  # functions are called by check and lab_wait_for
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
# shellcheck source=tests/net/live_lab.sh
. "$(dirname "$0")/live_lab.sh"
lab_begin
lab_need root netns veth bridge htb cgroup2 btf openmpi slurm
if [ ! -e "$LAB_B/spank_antiphase.so" ]; then
	skip "everything" "Slurm's header spank.h is not installed"
	lab_end
fi

LIVE_OUT=$LAB_DIR/out
mkdir "$LIVE_OUT"
live_fabric
LIVE_GATE_S=4
live_slurm || lab_end
live_collectors || lab_end
live_scheduler enforce || lab_end

# A job's iterations from its output.
n_done() {
	wc -l <"$LIVE_OUT/truth.$1"
}
n_orders() {
	live_ask /metrics | awk '/^antiphase_scheduler_orders_total/ { n += $2 } END { print n + 0 }'
}
has_orders() {
	[ "$(n_orders)" -ge "$1" ]
}
ended_well() {
	[ "$(slurm_job_field "$1" JobState)" = COMPLETED ] && [ "$(n_done "$2")" = "$3" ]
}
seconds_waited() {
	echo $(($(date -d "$(slurm_job_field "$1" StartTime)" +%s) - \
		$(date -d "$(slurm_job_field "$1" SubmitTime)" +%s)))
}

# ---- One job without contention ------------------------------------------------------
alone=$(live_submit alone h0,h3 60 3 60 0.02 1 0 1@0 1 meet)
lab_wait_for 30 "the end of the job" ended_well "$alone" alone 60
check "a job that is alone is not held back, in enforce" test "$(live_waits alone)" = "0 0.000"

# ---- Orders arrive ----------------------------------------------------------------------
# 120 ms of computing and 80 ms of sending each: two such jobs fit only in turns.
n=200
a=$(live_submit A h0,h3 $n 3 120 0.02 1 0 1@0 1 meet)
b=$(live_submit B h1,h4 $n 3 121 0.02 1 0 1@0 2 meet)
# From the first iteration of the later job on.
since_begin() {
	python3 - "$LIVE_OUT/truth.A" "$LIVE_OUT/truth.B" <<'X'
import sys, time
now = time.monotonic()
print("%.1f" % (now - max(float(open(path).readline().split()[1]) for path in sys.argv[1:])))
X
}
# Jobs that begin apart need no order at first; 'make demo-live' measures how soon.
if lab_wait_for 40 "an order" has_orders 1; then
	pass "an order is there ($(since_begin) s after the first iteration of both)"
fi
if lab_wait_for 40 "twelve orders" has_orders 12; then
	pass "two contending jobs are given orders"
else
	live_ask /api/v1/advice >&2
fi
live_ask /api/v1/advice >"$LAB_DIR/advice.json"
advised() {
	python3 - "$LAB_DIR/advice.json" "$a" "$b" <<'X'
import json, sys
found = {x["job"]: x for x in json.load(open(sys.argv[1]))["advice"]}
for job in sys.argv[2:]:
    print(job, found[job]["pacing"], found[job]["evidence"])
sys.exit(any(found[job]["pacing"] == "free" or found[job]["evidence"]["source"] != "pacer"
             for job in sys.argv[2:]))
X
}
check "their advice says so, on what their pacers tell" advised

# The result: it was followed, and later iterations are reported.
followed() {
	live_ask /api/v1/advice | python3 -c '
import json, sys
found = {x["job"]: x for x in json.load(sys.stdin)["advice"]}
shifts = [(found[job]["outcome"] or {}).get("shift") for job in sys.argv[1:]]
print(shifts, file=sys.stderr)
sys.exit(not all(s and s["followed"] and s["source"] == "pacer" for s in shifts))' "$a" "$b"
}
lab_wait_for 25 "the outcome of the advice" followed
check "the advice is found to be followed" followed

# ---- Killed daemons ------------------------------------------------------------------
lab_stop scheduler KILL
sleep 2
check "the scheduler is killed, and both jobs run on" \
	test "$(slurm_state "$a") $(slurm_state "$b")" = "RUNNING RUNNING"
lab_stop h0 KILL
lab_stop h1 KILL
gated=$(slurm_submit -N2 --job-name=gated)
check "a job of two nodes is gated" test "$(slurm_state "$gated")" = PENDING
live_ended() {
	[ "$(slurm_state "$a")$(slurm_state "$b")" = COMPLETEDCOMPLETED ]
}
lab_wait_for 60 "the end of both jobs" live_ended
check "their collectors are killed, too, and the first job ends well" ended_well "$a" A $n
check "and the second" ended_well "$b" B $n
read -r waits_a _ <<<"$(live_waits A)"
read -r waits_b _ <<<"$(live_waits B)"
check "they were held back, says the pacer of either ($waits_a, $waits_b times)" \
	test $((waits_a + waits_b)) -ge 3
slurm_wait_state 10 "$gated" RUNNING
waited=$(seconds_waited "$gated")
check "the gated job started within the gate and two seconds ($waited s)" \
	test "$waited" -le $((LIVE_GATE_S + 2))
slurm scancel "$gated"
lab_end
