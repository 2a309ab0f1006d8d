policies_SRCS := $(wildcard policies/*.c policies/math/*.c)
