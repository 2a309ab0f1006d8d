# SPDX-License-Identifier: Apache-2.0
sim_SRCS := $(wildcard sim/*.c sim/*/*.c)
