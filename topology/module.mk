# SPDX-License-Identifier: Apache-2.0
# The service's main file is not in the archive.
topology_MAINS := topology/topology.c
topology_SRCS  := $(filter-out $(topology_MAINS),$(wildcard topology/*.c))
