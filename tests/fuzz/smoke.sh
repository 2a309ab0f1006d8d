#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# smoke.sh FUZZER... - runs each libFuzzer target, two at a time, from its seeds and
# kept crashers.  By default the inputs are always the same, as many as the file 'runs'
# says, so that findings belong to the present change; with FUZZ_SECONDS it explores for
# that time.  A new crasher is kept in tests/fuzz/regress/NAME/, where 'make test'
# replays it.  One line per target; the last line is "N passed, N failed"; exit status 1
# if any failed.
set -u
FUZZ_SECONDS=${FUZZ_SECONDS:-}
CAP_SECONDS=300 # Limit for a very slow machine.
work=build/fuzz/smoke

# Runs one target; its line goes to stdout and, to be counted, to a file.
if [ "${1-}" = --one ]; then
	name=$(basename "$2")
	name=${name#fuzz_}
	regress=tests/fuzz/regress/$name
	mkdir -p "$work/$name.corpus" "$regress"
	# Sorted, since a folder's order varies.
	seeds=$(find "tests/fuzz/seeds/$name" "$regress" -type f 2>/dev/null | LC_ALL=C sort)
	# Not shorter than the longest seed, so that none is cut.
	max_len=$(find "tests/fuzz/seeds/$name" "$regress" -type f -printf '%s\n' 2>/dev/null |
		sort -n | tail -n 1)
	[ "${max_len:-0}" -gt 4096 ] || max_len=4096
	echo "$seeds" | tr '\n' ',' | sed 's/,$//' >"$work/$name.seeds"
	runs=$(awk -v name="$name" '$1 == name { print $2 }' tests/fuzz/runs)
	note=
	if [ "$FUZZ_SECONDS" ]; then
		# A new random seed each time, which is in the log.
		limit="-seed=0 -max_total_time=$FUZZ_SECONDS"
	else
		[ "$runs" ] || { runs=10000 note=" (tests/fuzz/runs has no line for it)"; }
		limit="-seed=1 -runs=$runs -max_total_time=$CAP_SECONDS -reload=0"
	fi
	# New inputs are kept only where there is time to use them.  Addresses, which
	# the fuzzer tries as numbers, are made constant where the kernel allows it.
	# shellcheck disable=SC2046,SC2086  # several words
	env -i $(setarch -R true 2>/dev/null && echo setarch -R) "$2" $limit \
		-max_len="$max_len" -timeout=10 -rss_limit_mb=1024 \
		-print_final_stats=1 -artifact_prefix="$regress/" \
		-seed_inputs="@$work/$name.seeds" \
		${FUZZ_SECONDS:+"$work/$name.corpus"} >"$work/$name.log" 2>&1
	status=$?
	rmdir "$regress" tests/fuzz/regress 2>/dev/null
	n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
	[ "$FUZZ_SECONDS" ] || [ "${n:-0}" -ge "$runs" ] || [ "$status" != 0 ] ||
		note=" (of $runs: cut after $CAP_SECONDS s)"
	if [ "$status" = 0 ]; then
		echo "  PASS     fuzz_$name: ${n:-0} executions$note" | tee "$work/$name.pass"
	else
		echo "  FAIL     fuzz_$name: exit status $status" | tee "$work/$name.fail"
		grep -E '^(SUMMARY|antiphase: bug|.*runtime error|Test unit written)' "$work/$name.log"
		echo "           all of it: $work/$name.log"
	fi
	exit 0
fi

rm -rf "$work"
mkdir -p "$work"
printf '%s\n' "$@" | xargs -P 2 -n 1 sh "$0" --one
passed=$(find "$work" -name '*.pass' | wc -l)
echo "$passed passed, $(($# - passed)) failed"
[ "$passed" = $# ]
