#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# replay.sh - runs each fuzz target's replay program (the target with replay.c) on its
# seeds and kept crashers; one line per target
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
