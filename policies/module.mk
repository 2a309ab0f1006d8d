# SPDX-License-Identifier: Apache-2.0
policies_SRCS := $(wildcard policies/*.c policies/math/*.c policies/hived/*.c)
