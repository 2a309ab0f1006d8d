# The daemon's main file is not in the archive.
scheduler_MAINS := scheduler/scheduler.c
scheduler_SRCS  := $(wildcard scheduler/core/*/*.c scheduler/live/*.c scheduler/host/*.c \
                   scheduler/store/*.c scheduler/k8s/*.c scheduler/daemon/*.c scheduler/policy/*.c scheduler/policy/math/*.c)
cli_SRCS        := $(wildcard scheduler/cli/*.c)
