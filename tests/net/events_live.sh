#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# events_live.sh - a real Open MPI job with four nearly equal bursts per iteration.  The
# traffic repeats after each burst; only the program's events show the iteration.
# Covers the path from uprobes through the collector and a recording to 'antiphase
# jobs'.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge tbf cgroup2 btf openmpi uprobe
job=system.slice/slurmstepd.scope/job_4711/step_0

lab_star 2 1gbit
lab_job $job >/dev/null
for host in h0 h1; do
	lab_collector $host $host --source bpf --interface e0 --output "$LAB_DIR/$host.tele"
done
lab_spawn watcher antiphase-events --socket "$LAB_DIR/h0.run/sockets/events.sock"
lab_wait_for 10 "antiphase-events" grep -q watching "$LAB_DIR/watcher.log"

# Three bursts of 4 MB and one of 3.8 MB, 32 ms each at 1 Gb/s, after 45 ms each.
check "Open MPI runs" \
	lab_mpi $job "$LAB_DIR/truth" h0,h1 60 16 180 0.02 4:0.95
sleep 1.5
lab_stop watcher
for host in h0 h1; do
	lab_stop $host
done

antiphase jobs --from "$LAB_DIR/h0.tele" --from "$LAB_DIR/h1.tele" --json \
	>"$LAB_DIR/jobs.json" 2>"$LAB_DIR/jobs.log"
read -r period harmonic marked <<<"$(python3 -c 'import json, sys
job = next(j for j in json.load(sys.stdin)["jobs"] if j["job"] == "4711")
print(job["period_us"], job["harmonic_of_us"], job["has_events"])' <"$LAB_DIR/jobs.json")"
# The time from one burst to the STEP-th after it, in us.  The machine delays some
# bursts, so estimates of the middle differ: events give Hodges and Lehmann's, and traffic
# gives the median.
truth_us() {
	python3 - "$LAB_DIR/truth" "$@" <<-'END'
		import statistics, sys
		begins = [float(line.split()[1]) for line in open(sys.argv[1])]
		step = int(sys.argv[2])
		times = [b - a for a, b in zip(begins, begins[step:])]
		if sys.argv[3] == "hodges-lehmann":
		    times = [(a + b) / 2 for i, a in enumerate(times) for b in times[i:]]
		print(round(1e6 * statistics.median(times)))
	END
}
check "events of the job have come" test "$marked" = True
near "the period is the iteration's, us" "$period" "$(truth_us 4 hodges-lehmann)" 1
near "the traffic alone repeats after each burst, us" "$harmonic" "$(truth_us 1 median)" 4
lab_end
