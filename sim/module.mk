sim_engine_SRCS := $(wildcard sim/engine/*.c)
sim_SRCS        := $(wildcard sim/*.c)
