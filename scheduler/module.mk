# SPDX-License-Identifier: Apache-2.0
# The daemon's main file is not in the archive.
scheduler_MAINS := scheduler/scheduler.c
scheduler_SRCS  := $(filter-out $(scheduler_MAINS),$(wildcard scheduler/*.c scheduler/core/*/*.c \
                   scheduler/live/*.c scheduler/slurm/*.c scheduler/store/*.c scheduler/k8s/*.c \
                   scheduler/daemon/*.c))
