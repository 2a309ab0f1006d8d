lib_SRCS := $(wildcard lib/base/*.c lib/daemon/*.c lib/wire/*.c)
