#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [--accept] [NAME...] - runs tests/golden/NAME/cmd, of all or these NAMEs, in that
# folder with the built programs on the path.  stdout must equal 'expect', stderr
# 'expect.err' if present, the exit status 'status' (default 0).  --accept rewrites these
# files instead; review the diff as code.
set -u
B=${B:?the build directory}
root=$PWD
case $B in /*) bin=$B ;; *) bin=$root/$B ;; esac
PATH=$bin:$PATH
LC_ALL=C.UTF-8
NO_COLOR=1
TERM=dumb
export PATH LC_ALL NO_COLOR TERM
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export GOLDEN_TMP="$tmp/scratch"

accepts=
if [ "${1-}" = --accept ]; then
	accepts=yes
	shift
fi
[ $# -gt 0 ] || set -- tests/golden/*/
for name; do
	name=$(basename "$name")
	dir=tests/golden/$name
	if [ ! -f "$dir/cmd" ]; then
		echo "FAIL golden: there is no $dir/cmd"
		continue
	fi
	rm -rf "$GOLDEN_TMP"
	mkdir "$GOLDEN_TMP"
	(cd "$dir" && timeout --foreground -k 10 "${TEST_LIMIT_S:-900}" sh ./cmd) >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	if [ "$accepts" ]; then
		cp "$tmp/out" "$dir/expect"
		[ ! -f "$dir/expect.err" ] || cp "$tmp/err" "$dir/expect.err"
		rm -f "$dir/status"
		[ "$status" = 0 ] || echo "$status" >"$dir/status"
		continue
	fi
	wanted=0
	[ ! -f "$dir/status" ] || wanted=$(cat "$dir/status")
	verdict=PASS
	diff -u "$dir/expect" "$tmp/out" >&2 || verdict=FAIL
	if [ -f "$dir/expect.err" ]; then
		diff -u "$dir/expect.err" "$tmp/err" >&2 || verdict=FAIL
	fi
	if [ "$status" != "$wanted" ]; then
		echo "$name: exit status $status, expected $wanted" >&2
		verdict=FAIL
	fi
	[ "$verdict" = PASS ] || cat "$tmp/err" >&2
	echo "$verdict golden: $name"
done
