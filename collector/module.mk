# SPDX-License-Identifier: Apache-2.0
# The programs' main files are not in the archive.
collector_MAINS := collector/collector.c collector/coll_events/coll_events.c
collector_SRCS  := $(filter-out $(collector_MAINS),$(wildcard collector/*.c collector/coll_events/*.c \
                   collector/daemon/*.c collector/doctor/*.c collector/import/*.c collector/jobs/*.c \
                   collector/paths/*.c collector/series/*.c collector/sources/*.c collector/sources/*/*.c))
