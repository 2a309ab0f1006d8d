#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# simulator.sh - our engine against SimGrid's on the same flow scenarios: flow
# completions per CPU second (user and system, of the run alone, best of RUNS) and peak
# memory.  B is the build directory.  The scenarios come from ../shared/data/sim if
# present, else from make_scn, which makes equivalent ones.
#
# SimGrid gets the settings that make it exact and fastest (latency 0 gives all flows
# equal weight; its default precision would merge events 10 us apart), and an unlimited
# stack, since it walks components recursively.
#
# BEFORE=DIR, another build directory, compares with that build's engine instead, run by
# run in turn: ns per flow and the ratio; and per solve, the whole run, unless nearly
# all rates come from the cache.
set -eu
B=${B:?the build directory}
RUNS=${RUNS:-3}
# shellcheck disable=SC3045  # dash knows it
ulimit -s unlimited 2>/dev/null || echo "simulator.sh: the stack stays limited" >&2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT INT TERM

best() {
	for _ in $(seq "$RUNS"); do "$@" 2>/dev/null; done | sort -g -k2,2 | head -n 1
}

simgrid() {
	"$B/tests/bench/simgrid_flows" "$@" \
		--cfg=network/model:CM02 --cfg=network/TCP-gamma:0 \
		--cfg=network/crosstraffic:0 --cfg=network/optim:Lazy \
		--cfg=contexts/factory:raw --cfg=surf/precision:1e-9 \
		--cfg=maxmin/precision:1e-9
}

# Makes a scenario's file if it is missing.
scenario() {
	if [ -f "../shared/data/sim/$1.scn" ]; then
		echo "../shared/data/sim/$1.scn"
	else
		"$B/tests/bench/make_scn" "$1" >"$scratch/$1.scn"
		echo "$scratch/$1.scn"
	fi
}

# Both builds in turn, best of RUNS.
against_before() {
	for _ in $(seq "$RUNS"); do
		"$BEFORE/tests/bench/flows_one" "$1" "$2" | sed 's/^/before /'
		"$B/tests/bench/flows_one" "$1" "$2" | sed 's/^/after /'
	done | awk -v name="$3" '
		!($1 in best) || $3 < best[$1] { best[$1] = $3 }
		$1 == "after" { flows = $2; solves = $6 }
		END { printf "%-12s %12.1f %12.1f %7.2fx %12s\n", name,
			1e9 * best["before"] / flows, 1e9 * best["after"] / flows,
			best["before"] / best["after"],
			(solves > flows / 100 ? sprintf("%.0f",
				1e9 * best["after"] / solves) : "-") }'
}

# The largest difference of the first 20 end times of each job, seconds.
differ() {
	"$B/antiphase-sim" flows --iterations "$2" --limit-output 20 "$1" >"$scratch/ours"
	simgrid "$1" "$2" "$scratch/all" >/dev/null 2>&1
	awk -F, '$2 < 20' "$scratch/all" | paste -d, "$scratch/ours" - | awk -F, '
		{ if ($1 != $4 || $2 != $5) bad = 1
		  d = $3 - $6; if (d < 0) d = -d; if (d > max) max = d }
		END { if (bad) print "lines differ"; else printf "%.1e\n", max }'
}

scenarios() {
	cat <<'END'
n16-rand 1000 30
n48-shared 100 -
n128-mix10 1000 -
n128-rand 1000 10
n1024-mix10 1000 -
n1024-rand 200 15
END
}

if [ -n "${BEFORE:-}" ]; then
	printf '%-12s %12s %12s %8s %12s\n' scenario 'before, ns' 'after, ns' ratio 'a solve, ns'
	scenarios | while read -r name iterations _; do
		against_before "$(scenario "$name")" "$iterations" "$name"
	done
	exit
fi

printf 'Simulator: flow completions per CPU second, best of %s; SimGrid is s4u of %s\n' \
	"$RUNS" "$(dpkg-query -W -f '${Version}' libsimgrid-dev 2>/dev/null || echo '?')"
printf '%-12s %12s %12s %8s %7s %10s %10s %12s\n' scenario ours/s SimGrid/s ratio bar \
	'ours MB' 'SimGrid MB' 'differ by s'
scenarios | while read -r name iterations bar; do
	file=$(scenario "$name")
	ours=$(best "$B/tests/bench/flows_one" "$file" "$iterations")
	theirs=$(best simgrid "$file" "$iterations")
	echo "$name $bar $ours $theirs $(differ "$file" "$iterations")"
done | awk '
	{ ours = $3 / $4; theirs = $8 / $9; ratio = ours / theirs
	  low = ($2 != "-" && ratio < $2) || $5 > $10
	  printf "%-12s %12.0f %12.0f %7.1fx %7s %10.1f %10.1f %12s%s\n", $1, ours, theirs,
		ratio, $2 == "-" ? "-" : $2 "x", $5 / 1024, $10 / 1024, $11,
		low ? "  BELOW THE BAR" : ""
	  bad = bad || low }
	END { exit bad }'
