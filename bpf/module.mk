# SPDX-License-Identifier: Apache-2.0
bpf_SRCS := $(wildcard bpf/*.bpf.c)
