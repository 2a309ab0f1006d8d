cli_SRCS := $(wildcard cli/*.c)
