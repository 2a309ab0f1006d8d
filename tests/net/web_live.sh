#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# web_live.sh - the page of antiphase-scheduler in a headless Chromium, while two Open MPI
# jobs contend for the cable between leaf and spine: links, jobs and iterations that
# it shows are those of the API
# shellcheck disable=SC2317  # functions are called by check
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge tbf cgroup2 btf openmpi node chromium
one=system.slice/slurmstepd.scope/job_4711/step_0
two=my.slice/training
hosts=(h0 h1 h2 h3)

lab_leaf_spine 2 1 2 500mbit
lab_plan >"$LAB_DIR/plan.json"
lab_node scheduler
lab_job $one >/dev/null
lab_job $two >/dev/null
bus=
for host in "${hosts[@]}"; do
	lab_collector "$host" "$host" --source bpf --interface e0
	bus+=${bus:+,}$(lab_endpoint "$host")
	lab_ctl "$host" job add blue --cgroup "$LAB_CG/$two" >/dev/null ||
		fail "job add on $host" "it is refused"
done
mkdir "$LAB_DIR/scheduler.run"
lab_spawn scheduler lab_in scheduler antiphase-scheduler --bus "$bus" --announce none \
	--topology "$LAB_DIR/plan.json" --store "$LAB_DIR/history.db" \
	--runtime-dir "$LAB_DIR/scheduler.run" --kill-switch "$LAB_DIR/stop"
lab_wait_for 10 "antiphase-scheduler" lab_listens scheduler 7470 || lab_end

# 6 MB and 5 MB from each of two ranks: 96 ms and 80 ms at the full rate.
lab_mpi $one "$LAB_DIR/one" h0,h2 1000 6 150 0.05 >"$LAB_DIR/mpi1.log" 2>&1 &
mpi1=$!
lab_mpi $two "$LAB_DIR/two" h1,h3 1000 5 120 0.05 >"$LAB_DIR/mpi2.log" 2>&1 &
mpi2=$!
lab_in scheduler env HOME="$LAB_DIR" TMPDIR="$LAB_DIR" timeout --kill-after=5 170 \
	node "$LAB_ROOT/web/browser/live.mjs" http://127.0.0.1:7470 "$LAB_B/web-screens" \
	4711 blue >"$LAB_DIR/page.log" 2>&1
status=$?
sed "s/^\(PASS\|FAIL\) /\1 $LAB_TEST: /" "$LAB_DIR/page.log"
[ "$status" = 0 ] || fail "the page" "live.mjs ended with status $status"
check "both jobs still ran" kill -0 $mpi1 $mpi2
kill $mpi1 $mpi2
lab_end
