#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# task_prolog.sh - TaskProlog of Slurm: gives each task the pacer, without the SPANK
# plug-in.  In slurm.conf: TaskProlog=@hookdir@/task_prolog.sh
#
# Slurm puts the lines "export NAME=VALUE" that it prints into the task's environment.  A
# job whose user exports ANTIPHASE_MODE=off is left alone.  Never fails a job.
library=${ANTIPHASE_LIBRARY:-@libdir@/libantiphase-pacer.so}
dir=${ANTIPHASE_DIR:-/run/antiphase}
mode=${ANTIPHASE_MODE:-on}

case $mode in
on | profile) ;;
*) exit 0 ;;
esac
echo "export ANTIPHASE_MODE=$mode"
if [ -n "${SLURM_ARRAY_JOB_ID:-}" ] && [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
	echo "export ANTIPHASE_JOB=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
else
	echo "export ANTIPHASE_JOB=${SLURM_JOB_ID:-}"
fi
shift_us=
if [ -r "$dir/${SLURM_JOB_ID:-}/shift" ]; then
	read -r shift_us <"$dir/$SLURM_JOB_ID/shift" || :
fi
case $shift_us in
'' | *[!0-9]*) ;;
*) echo "export ANTIPHASE_SHIFT_US=$shift_us" ;;
esac
# With a missing library the loader would complain in each process.
if [ -r "$library" ]; then
	case ${LD_PRELOAD:-} in
	*"$library"*) ;;
	*) echo "export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD}" ;;
	esac
fi
exit 0
