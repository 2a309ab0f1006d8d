# SPDX-License-Identifier: Apache-2.0
lib_SRCS := $(wildcard lib/base/*.c lib/daemon/*.c lib/wire/*.c)
# In libantiphase: the files that those of the other folders need; the linker names a missing one.
lib_PUBLIC := $(patsubst %,lib/base/%.c,address alloc err hostlist json jsonw log name rng sort strbuf strtab \
              units utf8 words yaml)
lib_PUBLIC_HEADERS := lib/base/err.h lib/base/strbuf.h
