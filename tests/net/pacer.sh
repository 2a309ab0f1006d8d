#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016  # what is in single quotes is awk's
# pacer.sh - a real Open MPI job of three ranks with libantiphase-pacer.so: its
# iterations reach the bus, an order to rank 0 delays all ranks, and a collector that is
# killed, sends garbage or is absent does not affect the job
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
lab_begin
lab_need root netns cgroup2 openmpi
pacer=$LAB_B/libantiphase-pacer.so
job=system.slice/slurmstepd.scope/job_4711/step_0

lab_node n0
lab_job "$job" >/dev/null
bus=$(lab_endpoint n0)
orders=ipc://$LAB_DIR/orders.sock

start_collector() {
	lab_collector n0 n0 --source netlink --interface lo --pacer-orders "$orders"
}

# TAG ITERATIONS COMPUTE_MS JITTER [SETTING...]: three ranks over the loopback.
train() {
	local tag=$1 iterations=$2 compute=$3 jitter=$4
	shift 4
	lab_in_job "$job" nsenter --net="/run/netns/$LAB-n0" -- \
		env TMPDIR="$LAB_DIR" "$@" timeout --kill-after=5 60 \
		mpirun --allow-run-as-root --oversubscribe --bind-to none \
		--mca orte_tmpdir_base "$LAB_DIR" --mca btl tcp,self --mca pml ob1 \
		--mca btl_tcp_if_include lo --mca oob_tcp_if_include lo \
		--mca mpi_yield_when_idle 1 -np 3 \
		"$LAB_B/tests/net/arl" "$LAB_DIR/$tag.truth" "$iterations" 0.4 \
		"$compute" "$jitter" >"$LAB_DIR/$tag.log" 2>&1
}

paced() {
	local tag=$1
	shift
	train "$tag" "$@" LD_PRELOAD="$pacer" ANTIPHASE_VERBOSE=1 \
		ANTIPHASE_ENDPOINT="$LAB_DIR/n0.run/sockets/pacer.sock"
}

# The first decile of all but the first few iterations of some truth files, in ms: other
# load only makes iterations longer.
period() {
	local file
	for file; do tail -n +11 "$LAB_DIR/$file.truth"; done | awk '
		$1 == last + 1 { print 1000 * ($3 - at) }
		{ last = $1; at = $3 }' | sort -n | awk '
		{ all[NR] = $1 }
		END { print all[int((NR + 9) / 10)] }'
}

# ---- Iterations to the collector, an order to the job --------------------------------

start_collector
lab_spawn steer "$LAB_B/tests/net/pace_steer" "$bus" "$orders" n0 30:40
lab_wait_for 10 "the announcer" test -S "$LAB_DIR/orders.sock"
antiphase record --bus "$bus" --for "8 s" --output "$LAB_DIR/run.tele" >"$LAB_DIR/record.log" 2>&1 &
record=$!
check "a job with the pacer ends well" paced ordered 70 60 0.02
sleep 0.3
rows=$(grep -c '^4711 ' "$LAB_DIR/steer.log")
check "its iterations are on the bus, by the job of its control group ($rows of 70)" \
	test "$rows" -ge 64
check "they are the kernel's word and not the job's" \
	awk '$1 == "4711" && $12 != 0 { exit 1 }' "$LAB_DIR/steer.log"
check "its end is told, too" awk '$13 == 1 { found = 1 } END { exit !found }' "$LAB_DIR/steer.log"
# The median, since the machine has other load.
age_us=$(awk '$13 == 0 { print $14 }' "$LAB_DIR/steer.log" | sort -n | awk '{ a[NR] = $1 }
	END { print a[int((NR + 1) / 2)] }')
check "within 5 ms, at the median (${age_us} us)" test "$age_us" -lt 5000
waited_ms=$(awk '$13 == 0 && $5 > $4 { n++; ms = 1000 * ($5 - $4) } END { print n == 1 ? ms : "none or many" }' \
	"$LAB_DIR/steer.log")
near "the wait of rank 0 for an order of 40 ms, ms" "$waited_ms" 40 5

# An all-reduce ends after the last rank has come, so all ranks wait together.  By its
# own clock the delayed one takes at least the wait, and the others as long as always.
read -r began_s lasted_ms usual_ms <<<"$(awk '
	FNR == NR { if ($13 == 0 && $5 > $4) { enter = $4; began = $5 } next }
	{ ms = 1000 * ($4 - $3); all[++n] = ms
	  if ($3 <= enter + 0.001 && $4 >= began) lasted = ms }
	END { for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++)
		if (all[j] < all[i]) { t = all[i]; all[i] = all[j]; all[j] = t }
	  print began, lasted + 0, all[int((n + 1) / 2)] }' \
	"$LAB_DIR/steer.log" "$LAB_DIR/ordered.truth")"
check "the all-reduce at $began_s s lasted for it ($lasted_ms ms, others $usual_ms ms)" \
	awk -v ms="$lasted_ms" -v usual="$usual_ms" 'BEGIN { exit !(ms >= 40 && usual < 40) }'
check "the job says what was done" grep -q '1 orders (0 not in time), 1 waits' "$LAB_DIR/ordered.log"
lab_stop steer
wait "$record"
n_recorded=$(python3 - "$LAB_DIR/run.tele" <<'EOF'
import sys
bytes, at, n = open(sys.argv[1], "rb").read(), 0, 0
while (at := bytes.find(b"\xa7APF", at)) >= 0:
    n += bytes[at + 6] == 4
    at += 4
print(n)
EOF
)
check "a recording has them, too ($n_recorded frames)" test "$n_recorded" -ge 60
lab_spawn again "$LAB_B/tests/net/pace_steer" "ipc://$LAB_DIR/replay.sock" \
	"ipc://$LAB_DIR/nobody.sock" n0
check "it is replayed" antiphase replay --fast --wait "10 s" \
	--bus "ipc://$LAB_DIR/replay.sock" "$LAB_DIR/run.tele"
sleep 0.3
lab_stop again
check "with all of them" test "$(grep -c '^4711 ' "$LAB_DIR/again.log")" -ge 60

# ---- A collector that is killed and restarted ----------------------------------------

paced killed 60 60 0.02 &
mpi=$!
sleep 2
lab_stop n0 KILL
sleep 1
start_collector
lab_spawn back "$LAB_B/tests/net/pace_steer" "$bus" "$orders" n0
check "a job whose collector is killed ends well" wait "$mpi"
sleep 0.3
check "the next collector hears of the same job" grep -q '^4711 ' "$LAB_DIR/back.log"
lab_stop back
lab_stop n0

# ---- No collector, a malformed one, and no pacer -------------------------------------

cat >"$LAB_DIR/nonsense.py" <<'EOF'
import os, select, socket, sys
at = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
at.bind(sys.argv[1])
at.listen(8)
peers = []
while True:
    select.select([at] + peers, [], [], 0.02)
    at.setblocking(False)
    try:
        peers.append(at.accept()[0])
        peers[-1].setblocking(False)
    except BlockingIOError:
        pass
    for peer in list(peers):
        try:
            # Never reads.
            peer.send(b"appc" + os.urandom(44))
            peer.send(os.urandom(1000))
        except BlockingIOError:
            pass
        except OSError:
            peers.remove(peer)
EOF
rm -f "$LAB_DIR/n0.run/sockets/pacer.sock"
lab_spawn nonsense python3 "$LAB_DIR/nonsense.py" "$LAB_DIR/n0.run/sockets/pacer.sock"
lab_wait_for 10 "nonsense" test -S "$LAB_DIR/n0.run/sockets/pacer.sock"
check "a job under nonsense ends well" paced nonsense 40 40 0
check "and waits for none of it" grep -q ' 0 waits' "$LAB_DIR/nonsense.log"
lab_stop nonsense
rm -f "$LAB_DIR/n0.run/sockets/pacer.sock"
# Alternating, since the machine's load varies; more turns if it varied much.
plain=() nobody=()
for turn in 1 2 3 4 5 6; do
	check "a job without a collector ends well ($turn)" paced "nobody$turn" 40 40 0
	check "and so does one without the pacer ($turn)" train "plain$turn" 40 40 0
	nobody+=("nobody$turn") plain+=("plain$turn")
	with=$(period "${nobody[@]}" nonsense)
	without=$(period "${plain[@]}")
	within="BEGIN { exit !($with <= 1.03 * $without) }"
	if [ "$turn" -gt 1 ] && awk "$within"; then
		break
	fi
done
check "its period with it (${with} ms) is at most 3 % above that without (${without} ms)" \
	awk "$within"
lab_end
