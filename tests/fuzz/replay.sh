#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz/replay.sh - feeds the seeds and the kept crashers of every fuzz target to
# its replay program (the target with a plain main): one line a target.
set -u
B=${B:?the build directory}
for target in tests/fuzz/fuzz_*.c; do
	[ -f "$target" ] || continue
	name=$(basename "$target" .c)
	name=${name#fuzz_}
	set --
	for file in tests/fuzz/seeds/"$name"/* tests/fuzz/regress/"$name"/*; do
		[ ! -f "$file" ] || set -- "$@" "$file"
	done
	if [ $# = 0 ]; then
		echo "FAIL fuzz: $name has no seeds"
	elif "$B/tests/fuzz/replay_$name" "$@" >&2; then
		echo "PASS fuzz: $name, $# inputs"
	else
		echo "FAIL fuzz: $name"
	fi
done
