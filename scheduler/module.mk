scheduler_SRCS := $(wildcard scheduler/core/*/*.c)
cli_SRCS       := $(wildcard scheduler/cli/*.c)
