# SPDX-License-Identifier: Apache-2.0
engine_SRCS := $(wildcard engine/*.c)

# The engine gains a few per cent from it.
$(patsubst %.c,$(B)/%.o,$(engine_SRCS)): ALL_CFLAGS += $(if $(SAN),,-O3)
