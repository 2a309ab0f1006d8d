# SPDX-License-Identifier: Apache-2.0
# The daemon's main file is not in the archive.
scheduler_MAINS := scheduler/scheduler.c
scheduler_SRCS  := $(filter-out $(scheduler_MAINS),$(wildcard scheduler/*.c scheduler/core/*/*.c \
                   scheduler/live/*.c scheduler/slurm/*.c scheduler/store/*.c scheduler/k8s/*.c \
                   scheduler/daemon/*.c))
# In libantiphase: profiles, and their shifts on links.
scheduler_PUBLIC := $(wildcard scheduler/core/solve/*.c scheduler/core/cassini/*.c) \
                    $(patsubst %,scheduler/core/%.c,profile/profile profile/profile_json profile/same_period \
                    paths/random_phase advise/compat advise/reason)
scheduler_PUBLIC_HEADERS := $(patsubst %,scheduler/core/%.h,profile/profile profile/profile_json solve/pair \
                            solve/joint cassini/circle advise/compat advise/reason advise/advise_constants)
