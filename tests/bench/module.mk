# 'make bench-run': every tests/bench/bench_*, then our simulator against SimGrid.
BENCH_TOOLS := $(B)/tests/bench/flows_one
-include $(BENCH_TOOLS:=.d)
