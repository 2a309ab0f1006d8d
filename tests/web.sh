#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# web.sh - the tests of the page: web/dist against its sources, fixtures against the
# programs, 'node --test', and a headless Chromium.  B is the build directory.  Without
# npm, or without its registry, they are skipped by name.  The last line is "N passed, N
# failed, N skipped".
set -u
B=${B:?the build directory}
passed=0 failed=0 skipped=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

verdict() {
	if [ "$1" = 0 ]; then
		passed=$((passed + 1))
		echo "PASS web: $2"
	else
		failed=$((failed + 1))
		echo "FAIL web: $2"
	fi
}

finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
	exit
}

skip() {
	skipped=$((skipped + 1))
	echo "SKIP web: $1"
	finish
}

command -v npm >/dev/null || skip "npm is not installed"
if ! (cd web && npm ls --all >/dev/null 2>&1); then
	(cd web && npm ci --ignore-scripts --no-audit --no-fund) >&2 ||
		skip "the packages of web/package-lock.json cannot be had"
fi

node web/build.mjs "$tmp/dist" >&2 && diff -r web/dist "$tmp/dist" >&2
verdict $? "web/dist is what its sources make, byte by byte"

mkdir "$tmp/fixtures"
B=$B python3 web/fixtures/make.py "$tmp/fixtures" &&
	cp web/fixtures/make.py "$tmp/fixtures" && diff -rq web/fixtures "$tmp/fixtures" >&2
verdict $? "web/fixtures are what the programs print (web/fixtures/make.py)"

(cd web && node --test tests/*.test.mjs) >"$tmp/node" 2>&1
status=$?
[ "$status" = 0 ] || cat "$tmp/node" >&2
n=$(sed -n 's/^# pass //p' "$tmp/node")
passed=$((passed + ${n:-0}))
n=$(sed -n 's/^# fail //p' "$tmp/node")
failed=$((failed + ${n:-1}))

node web/browser/check.mjs "$B" "$B/web-screens" | tee "$tmp/browser"
counts=$(tail -n 1 "$tmp/browser")
case $counts in
*passed*failed*skipped)
	# shellcheck disable=SC2086  # words
	set -- $counts
	passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + $5))
	;;
*) verdict 1 "the check in the browser came to its end" ;;
esac
finish
