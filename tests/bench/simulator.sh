#!/bin/sh
# simulator.sh - our engine against SimGrid's, the same flow scenarios in one run:
# flow completions per second of CPU (user and system, of the run alone, best of
# RUNS) and peak memory.  B is the build directory.  The scenarios are those of
# ../shared/data/sim when that is there, else make_scn's, which are equivalent.
#
# SimGrid is given what makes it exact and quickest (latency 0 gives every flow
# the same weight; its default precision would merge events 10 us apart), and an
# unlimited stack, as its walk over a component is recursive.
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

# The largest difference of the first 20 end times of each job, seconds.
differ() {
	"$B/antiphase-sim" flows --iterations "$2" --limit-output 20 "$1" >"$scratch/ours"
	simgrid "$1" "$2" "$scratch/all" >/dev/null 2>&1
	awk -F, '$2 < 20' "$scratch/all" | paste -d, "$scratch/ours" - | awk -F, '
		{ if ($1 != $4 || $2 != $5) bad = 1
		  d = $3 - $6; if (d < 0) d = -d; if (d > max) max = d }
		END { if (bad) print "lines differ"; else printf "%.1e\n", max }'
}

printf 'Simulator: flow completions per CPU second, best of %s; SimGrid is s4u of %s\n' \
	"$RUNS" "$(dpkg-query -W -f '${Version}' libsimgrid-dev 2>/dev/null || echo '?')"
printf '%-12s %12s %12s %8s %7s %10s %10s %12s\n' scenario ours/s SimGrid/s ratio bar \
	'ours MB' 'SimGrid MB' 'differ by s'
while read -r name iterations bar; do
	file=../shared/data/sim/$name.scn
	if [ ! -f "$file" ]; then
		file=$scratch/$name.scn
		"$B/tests/bench/make_scn" "$name" >"$file"
	fi
	ours=$(best "$B/tests/bench/flows_one" "$file" "$iterations")
	theirs=$(best simgrid "$file" "$iterations")
	echo "$name $bar $ours $theirs $(differ "$file" "$iterations")"
done <<'END' | awk '
	{ ours = $3 / $4; theirs = $7 / $8; ratio = ours / theirs
	  low = ($2 != "-" && ratio < $2) || $5 > $9
	  printf "%-12s %12.0f %12.0f %7.1fx %7s %10.1f %10.1f %12s%s\n", $1, ours, theirs,
		ratio, $2 == "-" ? "-" : $2 "x", $5 / 1024, $9 / 1024, $10,
		low ? "  BELOW THE BAR" : ""
	  bad = bad || low }
	END { exit bad }'
n16-rand 1000 30
n128-mix10 1000 -
n128-rand 1000 10
n1024-mix10 1000 -
n1024-rand 200 15
END
