#!/bin/sh
# fuzz/smoke.sh FUZZER... - runs each libFuzzer target for FUZZ_SECONDS (60), two at
# a time, from its seeds and kept crashers.  A new crasher stays in
# tests/fuzz/regress/NAME/, where 'make test' replays it from then on.  One line a
# target; the last line is "N passed, N failed"; exit status 1 if any failed.
set -u
FUZZ_SECONDS=${FUZZ_SECONDS:-60}
work=build/fuzz/smoke

# One target: its line goes to stdout and, for the count, to a file.
if [ "${1-}" = --one ]; then
	name=$(basename "$2")
	name=${name#fuzz_}
	corpus=$work/$name.corpus
	regress=tests/fuzz/regress/$name
	mkdir -p "$corpus" "$regress"
	for file in tests/fuzz/seeds/"$name"/* "$regress"/*; do
		[ ! -f "$file" ] || cp "$file" "$corpus/$(basename "$(dirname "$file")")-$(basename "$file")"
	done
	# As long as the longest seed, so that none is cut.
	max_len=$(find "$corpus" -type f -printf '%s\n' | sort -n | tail -n 1)
	[ "${max_len:-0}" -gt 4096 ] || max_len=4096
	"$2" -seed=1 -max_total_time="$FUZZ_SECONDS" -max_len="$max_len" -timeout=10 \
		-rss_limit_mb=1024 -print_final_stats=1 -artifact_prefix="$regress/" \
		"$corpus" >"$work/$name.log" 2>&1
	status=$?
	rmdir "$regress" tests/fuzz/regress 2>/dev/null
	n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
	if [ "$status" = 0 ]; then
		echo "  PASS     fuzz_$name: ${n:-0} executions" | tee "$work/$name.pass"
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
