#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_one.sh PROGRAM - runs one unit test program: its output goes to a log, one line
# per test to a summary, and one line for people to stdout.  Called by tests/run.
set -u
results=$B/test-results
name=$(basename "$1")
log=$results/$name.log
start=$(date +%s)
# A hanging program fails, and the others still run.
timeout --foreground -k 10 "${TEST_LIMIT_S:-900}" "$1" >"$log" 2>&1
status=$?
awk -v name="$name" -v status="$status" '
	/test\(s\) run\.$/ { summary = 1 }
	summary { next }
	/^\[       OK \]/ { print "PASS " name ": " $4; next }
	/^\[  SKIPPED \]/ { print "SKIP " name ": " $4; next }
	/^\[  FAILED  \]/ { print "FAIL " name ": " $4; failed++; next }
	END { if (status != 0 && !failed) print "FAIL " name ": exit status " status }
' "$log" >"$results/$name.sum"
awk -v name="$name" -v s=$(($(date +%s) - start)) '
	{ n[$1]++ }
	END { printf "  %-8s %s: %d passed, %d failed, %d skipped (%d s)\n",
		n["FAIL"] ? "FAILED" : "TEST", name, n["PASS"], n["FAIL"], n["SKIP"], s }
' "$results/$name.sum"
if grep -q '^FAIL' "$results/$name.sum"; then
	grep -vE '^\[ RUN|^\[       OK' "$log" | tail -n 60
fi
exit 0
