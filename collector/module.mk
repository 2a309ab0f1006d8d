# The programs' main files are not in the archive.
collector_MAINS := collector/collector.c collector/marks.c
collector_SRCS  := $(filter-out $(collector_MAINS),$(wildcard collector/*.c))
