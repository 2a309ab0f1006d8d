lib_SRCS := $(wildcard lib/base/*.c)
