#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# slurm_moves.sh - moves of running jobs with a real Slurm: a movable job is requeued once
# and goes on on the advised nodes; nothing happens where its user, Slurm, the partition,
# the mode or the kill switch forbid it; and a job whose daemon was killed between the
# requeue and its new place is started by Slurm
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
lab_begin
lab_need root netns slurm
slurm_make
run=$LAB_DIR/run
mkdir -p "$run"
# Slurm delays a requeued job by the life of its credential: 121 s, unless it is set.
DELAY_S=15
sed -i "s|^AuthInfo=.*|&,cred_expire=$DELAY_S|" "$SLURM_CONF"
echo "PartitionName=still Nodes=n[01-12] MaxTime=INFINITE State=UP OverSubscribe=NO" \
	>>"$SLURM_CONF"
slurm_start || lab_end

cat >"$run/scheduler.conf" <<X
[scheduler]
levers = place,time,move
moves_per_hour = 100 %

[partition train]
move = yes
X

# The fabric of the lab: three leaves with one uplink each.
antiphase topology generate leaf-spine --leaves 3 --hosts-per-leaf 4 --spines 1 --gbps 50 \
	--oversubscription 4 | python3 -c '
import re, sys
print(re.sub(r"\bh(\d+)\b", lambda m: "n%02d" % (int(m[1]) + 1), sys.stdin.read()))
' >"$run/fabric.json"

daemon_start() {
	rm -f "$run/scheduler.sock"
	lab_spawn scheduler lab_in slurm antiphase-scheduler --config "$run/scheduler.conf" \
		--runtime-dir "$run" --bus "ipc://$run/bus" --topology "$run/fabric.json" \
		--store "$run/history.db" --announce "ipc://$run/announce" --scheduler slurm \
		--kill-switch "$run/stop" --poll-ms 200 --max-age-s 3600 "$@"
	lab_wait_for 10 "the daemon" test -S "$run/scheduler.sock"
}

# Profiles of running jobs, as if the last run of the daemon had seen their traffic:
# JOB NODES, two nodes each.  Past moves are forgotten.
store_profiles() {
	python3 - "$run/history.db" "$@" <<'X'
import json, sqlite3, sys, time
PROFILE, MOVE = 2, 5
db = sqlite3.connect(sys.argv[1])
with db:
    db.execute("DELETE FROM document WHERE kind IN (?, ?)", (PROFILE, MOVE))
    for i, (job, nodes) in enumerate(zip(sys.argv[2::2], sys.argv[3::2])):
        period_us = 100000 + 700 * i
        profile = {"schema": "antiphase.profiles/1", "profiles": [
            {"job": job, "period_us": period_us, "iterations": 100, "confidence": 0.9,
             "phases": [{"start_us": 0, "duration_us": period_us * 7 // 10, "gbps": 50}]}]}
        db.execute("INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?)",
                   (PROFILE, job, int(time.time() * 1e6),
                    '{"hosts":"%s","document":%s}' % (nodes, json.dumps(profile))))
X
}

# A job on these nodes, though its user did not ask for them: the others are drained.
submit_on() {
	local nodes=$1 job
	shift
	slurm scontrol update NodeName="n[01-12]" State=DRAIN Reason=lab
	slurm scontrol update NodeName="$nodes" State=RESUME
	job=$(SLURM_SLEEP_S=600 slurm_submit --exclusive -N2 "$@")
	slurm_wait_state 15 "$job" RUNNING >&2
	slurm scontrol update NodeName="n[01-12]" State=RESUME
	echo "$job"
}

ask() {
	slurm curl -s -m 5 "http://127.0.0.1:7470/api/v1/$1"
}
# The advised nodes of a job: "n01 n03"; empty: it is not advised to move.
advised() {
	ask "advice/$1" | python3 -c '
import json, sys
print(" ".join(json.load(sys.stdin).get("move", {}).get("to", [])))' 2>/dev/null
}
is_advised() {
	[ -n "$(advised "$1")" ]
}
is_requeued() {
	[ "$(slurm_job_field "$1" Restarts)" = "$2" ]
}
runs_on() {
	[ "$(slurm scontrol show hostnames "$(slurm_nodes "$1")" | tr '\n' ' ')" = "$2 " ] &&
		slurm_is_state "$1" RUNNING
}
# Nothing happens in a time in which the daemon decides many times.
stays() {
	sleep 2
	is_requeued "$1" 0 && slurm_is_state "$1" RUNNING
}
# One round of seeking is over.
stays_moved() {
	sleep 5
	is_requeued "$moves" 1 && runs_on "$moves" "$to"
}
lab_ctl_scheduler() {
	slurm antiphase ctl --runtime-dir "$run" scheduler "$@"
}

mark=(--comment 'antiphase: movable move_s=1')
daemon_start
lab_stop scheduler
moves=$(submit_on 'n[01,05]' --requeue "${mark[@]}")
other=$(submit_on 'n[02,06]')
store_profiles "$moves" 'n[01,05]' "$other" 'n[02,06]'
# The longer a job has run, the longer it is expected to run on.
sleep 8

# ---- Advice ------------------------------------------------------------------------------
daemon_start --mode advise
check "a movable job that loses is advised to move" \
	lab_wait_for 45 "a move" is_advised "$moves"
check "antiphase advice shows the bill" grep -q "^+ $moves moves from n\[01,05\] to n" \
	<(slurm antiphase advice)
check "antiphase explain, too" grep -q 'Move 1 of its 2' <(slurm antiphase explain "$moves")
check "a job without the mark is not" test -z "$(advised "$other")"
check "in mode advise nothing happens" stays "$moves"
touch "$run/stop"
lab_ctl_scheduler mode enforce >/dev/null
check "nor with the kill switch" stays "$moves"

# ---- The move ----------------------------------------------------------------------------
to=$(advised "$moves")
rm "$run/stop"
check "in mode enforce it is requeued" lab_wait_for 10 "a requeue" is_requeued "$moves" 1
check "and goes on on the advised nodes ($to)" \
	lab_wait_for 12 "the start" runs_on "$moves" "$to"
check "its record says so" grep -q '^antiphase:v1;moved.*pinned' \
	<(slurm_job_field "$moves" AdminComment)
check "antiphase changes has the requeue" grep -q 'requeue' <(slurm antiphase changes)
lab_stop scheduler

# ---- After a restart -----------------------------------------------------------------------
daemon_start --mode enforce
check "a daemon started again leaves it there" stays_moved
check "the other job was not touched" is_requeued "$other" 0
lab_stop scheduler
slurm_clear

# ---- Which jobs stay -----------------------------------------------------------------------
fixed=$(submit_on 'n[01,05]' --no-requeue "${mark[@]}")
away=$(submit_on 'n[02,06]' --partition=still "${mark[@]}")
store_profiles "$fixed" 'n[01,05]' "$away" 'n[02,06]'
sleep 8
is_one_advised() {
	is_advised "$fixed" || is_advised "$away"
}
daemon_start --mode enforce
check "moves are advised" lab_wait_for 45 "a move" is_one_advised
check "a job that cannot be requeued is not moved" stays "$fixed"
check "nor one in a partition that does not allow it" stays "$away"
lab_stop scheduler
slurm_clear

# ---- Killed in between -----------------------------------------------------------------------
moves=$(submit_on 'n[01,05]' --requeue "${mark[@]}")
other=$(submit_on 'n[02,06]')
store_profiles "$moves" 'n[01,05]' "$other" 'n[02,06]'
sleep 8
daemon_start --mode enforce
lab_wait_for 45 "a requeue" is_requeued "$moves" 1
lab_stop scheduler KILL
check "killed between requeue and place, the job has no pin" \
	test "$(slurm_job_field "$moves" ReqNodeList)" = '(null)'
check "it is not held" test "$(slurm_job_field "$moves" Priority)" -gt 0
check "and Slurm starts it" slurm_wait_state $((DELAY_S + 10)) "$moves" RUNNING
lab_end
