# SPDX-License-Identifier: Apache-2.0
# The library that is loaded into jobs; lib/wire/pace.c is all that it shares with us.
pacer_SRCS := $(wildcard pacer/*.c) $(if $(wildcard pacer/*.c),lib/wire/pace.c)
# What is not a hook may be linked into tests.
pacer_TESTABLE := pacer/core.c pacer/gap.c pacer/link.c pacer/pending.c pacer/wait.c
