#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# slurm_topology.sh - a real Slurm loads the topology.conf that antiphase writes, from
# 25.05 on also the topology.yaml, and antiphase reads the same fabric from what Slurm
# prints
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
lab_begin
lab_need root netns slurm

# Three leaves under two spines, which are one switch for Slurm.
antiphase topology import -o "$LAB_DIR/fabric.json" - <<X
SwitchName=spine0 Switches=leaf[1-3]
SwitchName=spine1 Switches=leaf[1-3]
SwitchName=leaf1 Nodes=n[01-04]
SwitchName=leaf2 Nodes=n[05-08]
SwitchName=leaf3 Nodes=n[09-12]
X
slurm_make

shown_equals() {
	slurm scontrol show topology >"$LAB_DIR/shown"
	[ -s "$LAB_DIR/shown" ] && cmp <(antiphase topology import "$LAB_DIR/shown") <(antiphase topology import "$1")
}

antiphase topology show --format slurm-conf "$LAB_DIR/fabric.json" >"$SLURM_DIR/etc/topology.conf"
check "the fabric has a topology.conf" grep -qx 'SwitchName=spine0 Switches=leaf\[1-3\]' "$SLURM_DIR/etc/topology.conf"
slurm_start || lab_end
check "Slurm's topology is that of topology.conf" shown_equals "$SLURM_DIR/etc/topology.conf"

version=$(slurmctld -V | grep -oE '[0-9]+\.[0-9]+' | head -n 1)
if [ "$(printf '%s\n' 25.05 "$version" | sort -V | head -n 1)" = 25.05 ]; then
	slurm_daemon_stop slurmctld
	antiphase topology show --format slurm-yaml "$LAB_DIR/fabric.json" >"$SLURM_DIR/etc/topology.yaml"
	rm "$SLURM_DIR/etc/topology.conf"
	slurm_daemon_start slurmctld
	lab_wait_for 30 "twelve idle nodes" slurm_are_idle 12
	check "and that of topology.yaml" shown_equals "$SLURM_DIR/etc/topology.yaml"
else
	skip "topology.yaml" "Slurm $version does not read it, 25.05 does"
fi
lab_end
