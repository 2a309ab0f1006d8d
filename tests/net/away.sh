#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# away.sh - one receiver is stopped for a minute while frames arrive, another one is
# killed. The collector continues and its memory does not grow; the stopped receiver
# counts the missed frames by sequence and continues.
# shellcheck disable=SC2016  # inner shells expand
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns veth tbf cgroup2 btf iperf3
away_s=${AWAY_S:-60}
total='^antiphase_collector_interface_transmit_bytes_total\{.*interface="e0"'

resident_kib() {
	awk '/^VmRSS/ { print $2 }' "/proc/${LAB_PID[c]}/status"
}
count() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
		"$LAB_DIR/$1.json" "$2"
}
recorder() {
	lab_spawn "$1" sh -c 'exec antiphase record --bus "$0" -o "$1.tele" --json >"$1.json"' \
		"$(lab_endpoint c)" "$LAB_DIR/$1"
}

lab_star 2 400mbit
lab_mtu_size h0 e0
# The collector's own recording has every frame.
lab_collector c h0 --source bpf --interface e0 --metrics 127.0.0.1:9471 \
	--output "$LAB_DIR/all.tele"
recorder stopped
recorder killed
lab_reaches h0 "$(lab_addr h1)"
sleep 2
lab_spawn server lab_in h1 iperf3 -s -1
lab_wait_for 5 "the server" lab_listens h1 5201
wire=$(($(lab_bytes h0 e0 tx) - $(lab_metric h0 "$total")))
lab_spawn client lab_in h0 iperf3 -c "$(lab_addr h1)" -b 20M -t "$((away_s + 6))"
sleep 2
before=$(resident_kib)
kill -STOP "${LAB_PID[stopped]}"
lab_stop killed KILL
sleep "$away_s"
kill -CONT "${LAB_PID[stopped]}"
recorder again
sleep 3
after=$(resident_kib)
lab_stop stopped INT
lab_stop again INT
wait "${LAB_PID[client]}"
sleep 1.5
near "bytes counted meanwhile" "$(lab_metric h0 "$total")" \
	"$(($(lab_bytes h0 e0 tx) - wire))" 0.1
lab_stop c
echo "collector: $before KiB before, $after KiB after $away_s s" >&2
check "the collector keeps no more than its high-water mark" \
	test "$after" -le "$((before + 16384))"

# The stopped receiver's counts: received plus missed is all that was sent.
frames=$(count stopped frames) missing=$(count stopped missing_frames)
echo "stopped: $frames frames, $missing missing" >&2
check "the stopped receiver goes on with the same connection" test "$frames" -gt 0
sent() {
	python3 - "$LAB_DIR/all.tele" "$LAB_DIR/stopped.tele" "$frames" "$missing" <<'END'
import struct, sys
def frames(path):
    data, at, keys = open(path, "rb").read(), 0, []
    at = data.index(b"\n") + 1
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        keys.append(data[at:at + size])
        at += size
    return keys
whole, got = frames(sys.argv[1]), frames(sys.argv[2])
assert len(got) == int(sys.argv[3])
first, last = whole.index(got[0]), whole.index(got[-1])
assert all(frame in set(whole) for frame in got)
print(last - first + 1, "sent between its first and last", file=sys.stderr)
sys.exit(abs(last - first + 1 - len(got) - int(sys.argv[4])) > 1)
END
}
check "what it missed is counted" sent
check "a recording of a killed receiver is read up to its last frame" sh -c \
	'antiphase links --from "$0" --all --json >"$0.json"' "$LAB_DIR/killed.tele"
check "and a new one is served at once" test "$(count again frames)" -gt 3
check "and misses nothing" test "$(count again missing_frames)" = 0
lab_end
