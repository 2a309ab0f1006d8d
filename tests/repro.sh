#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# repro.sh - the smallest 'make repro-cassini': its tables are complete whatever their
# values are, a second run does nothing, and each file tells its origin
set -u
B=${B:?the build directory}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
out=$tmp/out

verdict() {
	status=$?
	if [ $status = 0 ]; then
		echo "PASS repro: $1"
	else
		echo "FAIL repro: $1"
	fi
}

study() {
	sh examples/studies/cassini.sh "$B" "$out" "$1" >"$tmp/said" 2>"$tmp/told"
}

# "POLICY AUGMENT": the value of a column for a metric.
value() {
	awk -F, -v policy="$1" -v augment="$2" -v metric="policies.$3" -v column="$4" '
		/^#/ { next }
		!n { n = NF; for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["policy"] == policy && $at["augment"] == augment && $at["metric"] == metric {
			print $at[column] }' "$out/cassini-smoke.csv"
}

study smoke || cat "$tmp/told" >&2
[ -s "$out/cassini-smoke.txt" ] && [ -s "$out/cassini-smoke-themis.txt" ] &&
	grep -q 'CASSINI (NSDI 2024): up to .*1.6 .*2.5 .*33' "$out/cassini-smoke.txt"
verdict "there are tables, with the paper's best beside"

[ "$(value themis none iterations.mean_s ratio)" = 1 ] &&
	[ "$(value random dedicated iterations.slowdown_mean mean)" = 1 ]
verdict "the base is 1, and who has links of its own is not slowed down"

for augment in none cassini antiphase; do
	value random $augment iterations.slowdown_mean mean
done | awk '!($1 >= 1) { bad = 1 } END { exit bad || NR != 3 }'
verdict "nobody is faster than with links of its own"

for file in "$out"/*.txt "$out"/*.csv; do
	grep -q '^# antiphase-sim' "$file" && grep -q '^# seed: 1\.\.2' "$file" &&
		grep -q '^# command: antiphase-sim ratios' "$file" || echo "$file"
done | grep . >&2
[ $? = 1 ]
verdict "each file has version, seeds and command"

if command -v gnuplot >/dev/null; then
	set -- "$out"/*.svg
	[ $# = 4 ] && ! grep -q 'warning' "$tmp/told" &&
		[ "$(grep -l 'antiphase-sim.*seeds 1\.\.2' "$@" | wc -l)" = 4 ]
	verdict "figures, which say where they come from"
else
	echo "SKIP repro: figures: there is no gnuplot"
fi
before=$(ls -l --time-style=full-iso "$out/cassini-smoke/cells")
study smoke
[ "$before" = "$(ls -l --time-style=full-iso "$out/cassini-smoke/cells")" ]
verdict "a second time runs nothing"

study never
[ $? = 2 ]
verdict "an unknown size is refused"
