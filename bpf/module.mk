bpf_SRCS := $(wildcard bpf/*.bpf.c)
