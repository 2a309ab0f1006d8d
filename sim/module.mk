sim_engine_SRCS := $(wildcard sim/engine/*.c)
sim_SRCS        := $(wildcard sim/*.c sim/cluster/*.c sim/jobtrace/*.c sim/apps/*.c sim/sweep/*.c)

# The engine gains a few per cent from it.
$(patsubst %.c,$(B)/%.o,$(sim_engine_SRCS)): ALL_CFLAGS += $(if $(SAN),,-O3)
