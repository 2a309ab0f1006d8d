#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# scheduler_killed.sh - antiphase-scheduler in mode enforce over a real Slurm with its
# gate, under load, killed at random times: KILLS times (60), drawn from SEED.  Half of
# the kills are followed by ExecStopPost, which releases pins, as under systemd; the
# others are not (HOW="systemd bare").  'make test-killed' does a thousand.
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
lab_begin
lab_need root netns slurm
gate_s=5
slurm_make
sed -e "s|^local STOP = .*|local STOP = \"$LAB_DIR/stop\"|" \
	-e "s/^local GATE_S = .*/local GATE_S = $gate_s/" \
	"$LAB_ROOT/scheduler/slurm/hooks/job_submit.lua" >"$SLURM_DIR/etc/job_submit.lua"
echo JobSubmitPlugins=lua >>"$SLURM_CONF"
slurm_start || lab_end
cp "$SLURM_DIR/etc/topology.conf" "$LAB_DIR/"
how=${HOW:-systemd bare}
n=$(wc -w <<<"$how")
for each in $how; do
	lab_in slurm python3 "$LAB_ROOT/tests/net/scheduler_killed.py" "$LAB_DIR" \
		$((${KILLS:-60} / n)) $gate_s "${SEED:-1}" "$each" >"$LAB_DIR/killed.out" || LAB_FAILED=1
	while read -r verdict text; do
		echo "$verdict $LAB_TEST: $text"
		[ "$verdict" = PASS ] || LAB_FAILED=1
	done <"$LAB_DIR/killed.out"
	grep -q . "$LAB_DIR/killed.out" || fail "the kills ($each)" "nothing was said"
done
[ "$LAB_FAILED" = 0 ] || tail -n 30 "$LAB_DIR/scheduler.log" >&2
lab_end
