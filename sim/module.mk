sim_SRCS := $(wildcard sim/*.c sim/*/*.c)
