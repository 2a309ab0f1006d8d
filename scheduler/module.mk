scheduler_SRCS := $(wildcard scheduler/core/*/*.c scheduler/live/*.c)
cli_SRCS       := $(wildcard scheduler/cli/*.c)
