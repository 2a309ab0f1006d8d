#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# slurm_sweep.sh - 'antiphase sim sweep --slurm' in a real Slurm: an array runs the
# cells, cancelled cells are submitted again, and finally all results are merged
# shellcheck source=tests/net/lab.sh
. "$(dirname "$0")/lab.sh"
# shellcheck source=tests/net/slurm_lab.sh
. "$(dirname "$0")/slurm_lab.sh"
lab_begin
lab_need root netns slurm
slurm_make
slurm_start || lab_end

study=$SLURM_DIR/out/study
mkdir "$study"
cp "$LAB_ROOT"/examples/{two-jobs.ini,two-jobs-fabric.json,sweep.ini} "$study"
cd "$study" || lab_end

sweep() {
	slurm "$LAB_B/antiphase-sim" sweep sweep.ini "$@"
}
# shellcheck disable=SC2317  # by lab_wait_for
queue_is_empty() {
	[ -z "$(slurm squeue -h)" ]
}
# shellcheck disable=SC2317  # by lab_wait_for
are_done() {
	[ "$(find sweep.sweep/cells -name '*.json' | wc -l)" = "$1" ]
}

# Nothing starts until allowed: first one task.
job=$(sweep --slurm --chunk 4 --sbatch hold --sbatch time=5 | sed -n 's/^submitted job //p')
check "an array is submitted" test -n "$job"
check "of three tasks" test "$(slurm squeue -h -r -j "$job" | wc -l)" = 3
check "which is not submitted twice" grep -q "job $job is still there" <(sweep --slurm 2>&1)
slurm scontrol release "${job}_1"
check "a task runs its cells" lab_wait_for 60 "four cells" are_done 4
slurm scancel "$job"
check "the rest is cancelled" lab_wait_for 30 "an empty queue" queue_is_empty
job=$(sweep --slurm --chunk 4 --sbatch time=5 | sed -n 's/^submitted job //p')
check "what is missing is submitted" test -n "$job"
check "in two tasks" grep -q '^#SBATCH --array=1-2$' sweep.sweep/sweep.sbatch
check "and runs" lab_wait_for 60 "twelve cells" are_done 12
check "to the end" lab_wait_for 30 "an empty queue" queue_is_empty
check "then it is merged" grep -q 'hold 12 cells' <(sweep --slurm)
check "into rows of twelve cells" test \
	"$(grep -v '^#' sweep.sweep/sweep.csv | cut -d, -f1 | sort -u | grep -c '^[0-9]')" = 12
lab_end
