#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# metrics.sh - the metrics of a running collector are those of docs/metrics.md, promtool
# accepts them, and CLI and HTTP show the same ones.  With root and eBPF it also checks
# the metrics of eBPF.
set -u
B=${B:?the build directory}
case $B in /*) bin=$B ;; *) bin=$PWD/$B ;; esac
PATH=$bin:$PATH
export PATH
tmp=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; rm -rf "$tmp"' EXIT

verdict() {
	if [ "$1" = 0 ]; then
		echo "PASS metrics: $2"
	else
		echo "FAIL metrics: $2"
		[ ! -f "$tmp/log" ] || cat "$tmp/log" >&2
	fi
}

# In its own network namespace if possible, where all ports are free.
own=
port=$((20000 + $$ % 20000))
if [ "$(id -u)" = 0 ] && unshare -n ip link set lo up 2>/dev/null; then
	own="unshare -n"
fi

start() {
	# shellcheck disable=SC2086  # several words
	$own sh -c 'ip link set lo up 2>/dev/null; exec "$@"' - antiphase-collector \
		--runtime-dir "$tmp/run" --metrics 127.0.0.1:$port --log err \
		--endpoint none "$@" 2>"$tmp/log" &
	pid=$!
	for _ in $(seq 50); do
		[ ! -S "$tmp/run/collector.sock" ] || return 0
		kill -0 $pid 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

stop() {
	kill $pid 2>/dev/null
	wait $pid
	pid=
}

sources="--source netlink"
if [ -n "$own" ] && start --source bpf --interface lo; then
	sources="--source bpf --interface lo"
	stop
fi
# shellcheck disable=SC2086
start $sources
verdict $? "the collector starts ($sources)"
sleep 2.5

antiphase ctl --runtime-dir "$tmp/run" collector stats >"$tmp/stats" 2>"$tmp/log"
verdict $? "it says its figures"
if command -v promtool >/dev/null; then
	promtool check metrics <"$tmp/stats" >"$tmp/log" 2>&1 && [ ! -s "$tmp/log" ]
	verdict $? "promtool check metrics"
else
	echo "SKIP metrics: promtool check metrics: there is no promtool"
fi

# The collector's metrics in the manual: the first table.
# shellcheck disable=SC2016  # no shell expansion is meant
sed -n 's/^| `\([a-z_]*\)` | \([a-z]*\) |.*/\1 \2/p' docs/metrics.md |
	grep -v '^antiphase_topology_' | sort >"$tmp/documented"
sed -n 's/^# TYPE //p' "$tmp/stats" | sort >"$tmp/printed"
comm -13 "$tmp/documented" "$tmp/printed" >"$tmp/log"
[ ! -s "$tmp/log" ] && [ -s "$tmp/printed" ]
verdict $? "every figure is in docs/metrics.md"
case $sources in
*bpf*) never='antiphase_collector_clock_error_seconds' ;;
*) never='antiphase_collector_clock_error_seconds|_bpf_|_map_full_|_lost_buckets_' ;;
esac
comm -23 "$tmp/documented" "$tmp/printed" | grep -vE "$never" >"$tmp/log"
[ ! -s "$tmp/log" ]
verdict $? "every figure of docs/metrics.md is printed"

# All samples of a metric have the same labels.  Prints names that break a rule.
awk '/^#/ { next }
	{ name = $0; sub(/[{ ].*/, "", name); labels = ""
	  if (match($0, /\{.*\}/)) labels = substr($0, RSTART, RLENGTH)
	  gsub(/"([^"\\]|\\.)*"/, "", labels)
	  if (name in seen && seen[name] != labels) print name ": " seen[name] " and " labels
	  seen[name] = labels
	  if (name !~ /^(antiphase_collector_|antiphase_build_info$|process_)/) print name }
' "$tmp/stats" >"$tmp/log"
[ ! -s "$tmp/log" ]
verdict $? "every name has the prefix of the program, and one set of labels"

nsenter_own=
[ -z "$own" ] || nsenter_own="nsenter --net=/proc/$pid/ns/net"
$nsenter_own python3 - $port >"$tmp/page" 2>"$tmp/log" <<'PYTHON'
import sys
import urllib.request
page = urllib.request.urlopen("http://127.0.0.1:%s/metrics" % sys.argv[1], timeout=5)
assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
sys.stdout.write(page.read().decode())
health = urllib.request.urlopen("http://127.0.0.1:%s/healthz" % sys.argv[1], timeout=5)
assert health.read().startswith(b"ok\n")
PYTHON
sed -n 's/^# TYPE //p' "$tmp/page" | sort | cmp -s - "$tmp/printed"
verdict $? "Prometheus is given the same ones over HTTP"

# A request like Prometheus's, whose reader wants optional time stamps.
$nsenter_own python3 - $port >"$tmp/open" 2>"$tmp/log" <<'PYTHON'
import re
import sys
import urllib.request
page = urllib.request.urlopen(urllib.request.Request(
    "http://127.0.0.1:%s/metrics" % sys.argv[1], headers={
        "Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"}),
    timeout=5)
assert page.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
for line in page.read().decode().splitlines():
    print(line if line.startswith("#") else line + " 1700000000")
PYTHON
verdict $? "OpenMetrics is there for who asks for it"
sed -n 's/^# TYPE //p' "$tmp/open" | sed 's/ counter$/_total counter/' | sort |
	cmp -s - "$tmp/printed" && [ "$(tail -n 1 "$tmp/open")" = "# EOF" ]
verdict $? "it has the same ones, and an end"
if command -v promtool >/dev/null; then
	promtool tsdb create-blocks-from openmetrics "$tmp/open" "$tmp/blocks" \
		>"$tmp/log" 2>&1
	verdict $? "Prometheus reads it"
else
	echo "SKIP metrics: Prometheus reads OpenMetrics: there is no promtool"
fi
stop
