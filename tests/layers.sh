#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# layers.sh - which folder may include which: "folder: included folders".  Includes are
# written as paths from the root of the tree, which makes this checkable.
set -eu
rules='bpf: bpf
lib/base: lib/base
lib/daemon: lib/daemon lib/base
lib/wire: lib bpf/connect_port.h bpf/events.h bpf/port_translate.h
topology: topology lib
collector: collector lib bpf
collector/doctor: collector topology lib bpf
collector/series: collector/series collector/sources/source.h lib
collector/jobs: collector/jobs lib
collector/paths: collector/paths collector/sources/bpf/libbpf_log.h lib bpf
collector/sources: collector/sources collector/series collector/jobs collector/config.h lib bpf
collector/nccl: collector/nccl lib
engine: engine topology lib/base
policies: policies lib/base
scheduler/core/profile: scheduler/core/profile lib/base
scheduler/core/solve: scheduler/core/solve scheduler/core/profile lib/base
scheduler/core/cassini: scheduler/core/cassini scheduler/core/solve scheduler/core/profile lib/base
scheduler/core/workload: scheduler/core/workload scheduler/core/solve scheduler/core/profile engine topology lib/base
scheduler/core/paths: scheduler/core/paths scheduler/core/workload scheduler/core/solve scheduler/core/profile topology lib/base
scheduler/core/advise: scheduler/core engine topology lib/base
scheduler/core/control: scheduler/core/control scheduler/core/solve scheduler/core/profile lib/base
scheduler/core: scheduler/core engine topology lib/base
scheduler/live: scheduler/live scheduler/core topology lib
scheduler/slurm: scheduler/slurm scheduler/scheduler_driver.h lib
scheduler/store: scheduler/store lib/base
scheduler/k8s: scheduler/k8s scheduler/core topology lib
scheduler: scheduler topology lib
pacer: pacer lib/wire/pace.h
sim/trace: sim/trace lib/base
sim/import: sim/import sim/trace sim/verbs.h scheduler/core topology lib/base
sim/baselines: sim/baselines scheduler/core topology lib/base
sim/cluster: sim/cluster sim/baselines policies engine scheduler/core topology lib/base
sim/apps: sim/apps sim/cluster sim/trace policies lib/base
sim/jobs: sim/jobs sim/cluster sim/trace sim/verbs.h policies scheduler/core topology lib/base
sim/report: sim/report lib/base
sim/telemetry: sim/telemetry sim/run/plan.h engine scheduler/core topology lib
sim/run: sim/run sim/baselines sim/telemetry sim/report sim/verbs.h engine scheduler/core topology lib/base
sim/compare: sim/compare sim/run sim/report sim/verbs.h scheduler/core lib/base
sim/replay: sim/replay sim/jobs sim/apps sim/cluster sim/trace sim/report sim/verbs.h policies scheduler/core topology lib/base
sim/sweep: sim/sweep sim/compare/seeds.h sim/report sim/verbs.h lib/base lib/daemon
sim: sim engine topology lib scheduler/core policies
cli: cli scheduler collector topology lib'
bad=$(
	find bpf lib topology collector engine policies scheduler pacer sim cli -name '*.[ch]' 2>/dev/null |
	while IFS= read -r file; do
		allowed=$(printf '%s\n' "$rules" | awk -F': ' -v f="$file" '
			index(f, $1 "/") == 1 && length($1) > n { n = length($1); a = $2 }
			END { print a }')
		sed -n 's/^[ \t]*#[ \t]*include[ \t]*"\([^"]*\)".*/\1/p' "$file" |
		while IFS= read -r inc; do
			ok=
			for a in $allowed; do
				case $inc in "$a" | "$a"/*) ok=1 ;; esac
			done
			[ "$ok" ] || echo "$file may not include $inc"
		done
	done
)
[ -z "$bad" ] || { printf '%s\n' "$bad" >&2; exit 1; }
