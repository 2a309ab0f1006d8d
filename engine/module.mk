# SPDX-License-Identifier: Apache-2.0
engine_SRCS := $(wildcard engine/*.c)
# In libantiphase.
engine_PUBLIC := $(engine_SRCS)
engine_PUBLIC_HEADERS := engine/engine.h

# The engine gains a few per cent from it.
$(engine_SRCS:%.c=$(B)/%.o) $(engine_SRCS:%.c=$(B)/shared/%.o): ALL_CFLAGS += $(if $(SAN),,-O3)
