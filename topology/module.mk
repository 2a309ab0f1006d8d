topology_SRCS := $(wildcard topology/*.c)
