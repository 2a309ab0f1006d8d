#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cassini.sh BUILD OUT [24|all|smoke] - the experiment of the CASSINI paper (NSDI 2024):
# sweeps, tables of ratios, and figures, in the folder OUT.  Finished runs are not repeated.
# Each file begins, and each figure ends, with the version, the command and the seeds.
set -eu
sim=$1/antiphase-sim
out=$2
which=${3:-all}
here=$(dirname "$0")
mkdir -p "$out"

# The comparisons, and the best cases of the paper.
PAPER='CASSINI (NSDI 2024): up to=1.6,2.5,-,-,1.6,2.5,33'

ratios() {
	"$sim" ratios "$@" \
		-m policies.iterations.mean_s=ITERATION \
		-m policies.iterations.p99_s=P99 \
		-m policies.iterations.slowdown_mean=SLOWDOWN \
		-m policies.iterations.slowdown_p99=P99 \
		-m policies.mean_s=COMPLETION \
		-m policies.p99_s=P99 \
		-m policies.iterations.ecn_packets="ECN MARKS" \
		--reference "$PAPER"
}

# Counts job sets that shared links, and those without CASSINI shifts because of a loop.
loops() {
	"$sim" ratios "$1" -b augment=none \
		-m policies.fabric.n_solved -m policies.fabric.n_loops \
		-m policies.fabric.n_shifted -m policies.fabric.max_jobs --csv -
}

# NAME "COMPARISON" BASE...: a table and its CSV.
table() {
	name=$1 text=$2 file=$3
	shift 3
	ratios "$out/$name/sweep.json" "$@" --csv "$out/$file.csv" >"$out/$file.new"
	{
		sed -n 's/^# /# /p' "$out/$file.csv"
		echo "#"
		echo "# $text: above 1 is less time, or fewer marks. Mean over seeds and 95 %"
		echo "# interval, in pairs. ECN marks are an estimate, not packets."
		cat "$out/$file.new"
	} >"$out/$file.txt"
	rm "$out/$file.new"
	cat "$out/$file.txt"
	echo
}

# NAME: a sweep, and its table.
compared() {
	echo "== $1" >&2
	"$sim" sweep "$here/$1.ini" -o "$out/$1" >&2
	table "$1" "Each scheduler as it is over what it is with CASSINI, antiphase, other systems, links of its own" \
		"$1" --base augment=none
}

study() {
	compared "$1"
	loops "$out/$1/sweep.json" >"$out/$1-loops.csv"
}

case $which in
smoke)
	main=cassini-smoke
	;;
24 | all)
	main=cassini-24
	;;
*)
	echo "cassini.sh: expected 24, all or smoke, not '$which'" >&2
	exit 2
	;;
esac
study $main
if [ $main != cassini-smoke ]; then
	compared levers-24
	compared moves-24
fi
table $main "Themis as it is over each" "$main-themis" --base policy=themis --base augment=none
if [ "$which" != smoke ]; then
	study cassini-pollux
	study cassini-jitter
	study cassini-inputs
fi
if [ "$which" = all ]; then
	for servers in 128 512 1024; do
		study "cassini-$servers"
		compared "levers-$servers"
		compared "moves-$servers"
	done
fi

if ! command -v gnuplot >/dev/null; then
	echo "SKIP figures: there is no gnuplot" >&2
	exit 0
fi
sh "$here/figures.sh" "$out" $main
