#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# mpi_two.sh - two Open MPI jobs between two leaves share the interface of h0 and the
# cable between leaf and spine: each gets its own period and bytes, and 'links' and
# 'link' name the cable for which they contend
# shellcheck disable=SC2317  # functions are called by check
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth bridge tbf cgroup2 btf openmpi
one=system.slice/slurmstepd.scope/job_4711/step_0
two=my.slice/training
hosts=(h0 h2 h3)

lab_leaf_spine 2 1 2 1gbit
lab_plan >"$LAB_DIR/plan.json"
lab_job $one >/dev/null
lab_job $two >/dev/null
from=()
for host in "${hosts[@]}"; do
	lab_collector "$host" "$host" --source bpf --interface e0
	from+=(--from "$(lab_endpoint "$host")")
	check "job add on $host" lab_ctl "$host" job add blue --cgroup "$LAB_CG/$two"
done

# 12 MB and 8 MB from each of two ranks, 96 ms and 64 ms at the full rate, after 200 and
# 150 ms of computing: iterations are either delayed, by up to half, or not, with few in
# between. The sharpness of the programs' own median is limited: by bootstrap its
# standard error over 30 s is 1 to 4 %, and one rank's is up to 3 % off the other's.
# The comparison uses the same 30 s and iterations for both, so both have this error;
# other 30 s would not be within 2 %.
lab_mpi $one "$LAB_DIR/one" h0,h2 150 12 200 0.05 >"$LAB_DIR/mpi1.log" 2>&1 &
mpi1=$!
lab_mpi $two "$LAB_DIR/two" h0,h3 210 8 150 0.05 >"$LAB_DIR/mpi2.log" 2>&1 &
mpi2=$!
sleep 6
ask() {
	antiphase "$@" "${from[@]}" --fabric "$LAB_DIR/plan.json" --window "30 s" --json
}
ask jobs >"$LAB_DIR/jobs.json" 2>"$LAB_DIR/jobs.log" &
asked=$!
ask links >"$LAB_DIR/links.json" 2>"$LAB_DIR/links.log" &
links=$!
ask link 'leaf0:up0>spine0:swp0' >"$LAB_DIR/link.json" 2>"$LAB_DIR/link.log" &
wait $!
wait $links
wait $asked
check "both still ran" kill -0 $mpi1 $mpi2

read -r period own found _ <<<"$(lab_judge "$LAB_DIR/jobs.json" 4711 "$LAB_DIR/one")"
near "period of 4711, ms" "$period" "$own" 2
near "bytes an iteration of 4711" "$found" "$((12000000 * 1514 / 1448))" 5
read -r period own found _ <<<"$(lab_judge "$LAB_DIR/jobs.json" blue "$LAB_DIR/two")"
near "period of blue, ms" "$period" "$own" 2
near "bytes an iteration of blue" "$found" "$((8000000 * 1514 / 1448))" 5

# The shared links, and for how long they are shared.
contend() {
	python3 - "$1" "$2" <<'END'
import json, sys
link = next(l for l in json.load(open(sys.argv[1]))["links"] if l["link"] == sys.argv[2])
jobs = sorted(job["job"] for job in link["jobs"])
pairs = [(sorted(p["jobs"]), p["overlap_us"]) for p in link["pairs"]]
print(link["link"], link["basis"], jobs, pairs)
sys.exit(jobs != ["4711", "blue"] or not any(
    names == ["4711", "blue"] and us > 0 for names, us in pairs))
END
}
check "links: both on the cable to the spine" contend "$LAB_DIR/links.json" \
	'leaf0:up0>spine0:swp0'
check "link: both on it, and back" contend "$LAB_DIR/link.json" 'leaf0:up0>spine0:swp0'
check "links: both on the cable of h0" contend "$LAB_DIR/links.json" 'h0:e0>leaf0:swp0'
alone() {
	python3 - "$1" "$2" <<'END'
import json, sys
link = next(l for l in json.load(open(sys.argv[1]))["links"] if l["link"] == sys.argv[2])
sys.exit([job["job"] for job in link["jobs"]] != ["4711"])
END
}
check "links: 4711 only on the cable of h2" alone "$LAB_DIR/links.json" 'h2:e0>leaf1:swp0'
kill $mpi1 $mpi2
lab_end
