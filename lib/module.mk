# SPDX-License-Identifier: Apache-2.0
lib_SRCS := $(wildcard lib/base/*.c lib/daemon/*.c lib/wire/*.c)
