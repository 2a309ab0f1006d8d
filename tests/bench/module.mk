# SPDX-License-Identifier: Apache-2.0
# 'make bench-run': every tests/bench/bench_*, then our simulator against SimGrid.
BENCH_TOOLS := $(B)/tests/bench/flows_one $(B)/tests/bench/make_scn $(B)/tests/bench/live_many \
	$(B)/tests/bench/flow_marks $(B)/tests/bench/tcp_flows
.PHONY: bench-run bench-fidelity-run bench-simulator bench-replay bench-collectives bench-slice \
	bench-harm

# One after the other, so that none disturbs another.
bench-run: $(BENCHES)
	$(Q)$(MAKE) --no-print-directory bench-simulator
	$(Q)$(MAKE) --no-print-directory bench-replay
	$(Q)$(MAKE) --no-print-directory bench-collectives
	$(Q)for bench in $(BENCHES); do echo; $$bench || exit 1; done

bench-simulator: $(BENCH_TOOLS) $(if $(BEFORE),,$(B)/tests/bench/simgrid_flows) $(B)/antiphase-sim
	$(Q)B=$(B) sh tests/bench/simulator.sh
	$(if $(BEFORE),,$(Q)B=$(B) python3 tests/bench/simulator_whole.py)

bench-replay: $(B)/antiphase-sim
	$(Q)B=$(B) python3 tests/bench/replay.py

bench-collectives: $(B)/antiphase-sim
	$(Q)B=$(B) python3 tests/bench/collectives.py

# Two weeks of Philly on a fabric under every policy (POLICIES, ITERATIONS, SEED): hours.
bench-slice: $(B)/antiphase-sim
	$(Q)B=$(B) python3 tests/bench/slice.py $(POLICIES)

# 1,000 random scenarios under antiphase and fair (SCENARIOS, FIRST, LEVERS, WORKERS):
# about an hour of two processors.
bench-harm: $(B)/antiphase-sim
	$(Q)B=$(B) python3 tests/bench/harm.py

# The same scenarios in our engine and packet by packet, in ns-3 and, with --protocol cubic
# and as root, with TCP of this kernel.
bench-fidelity-run: $(B)/antiphase-sim $(B)/tests/bench/flow_marks $(B)/tests/bench/ns3_flows \
	$(B)/tests/bench/tcp_flows
	$(Q)B=$(B) python3 tests/bench/fidelity.py $(FIDELITY_OPTIONS)

$(B)/tests/bench/tcp_flows: $(B)/tests/bench/dctcp.o $(B)/tests/bench/netns_tcp.o
$(B)/tests/bench/dctcp.o: | build/bpf/dctcp.skel.h

$(B)/tests/bench/ns3_flows: tests/bench/ns3_flows.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -O2 -Wall -Wextra $< -o $@ -lns3-internet -lns3-point-to-point \
		-lns3-traffic-control -lns3-network -lns3-core

$(B)/tests/bench/simgrid_flows: tests/bench/simgrid_flows.cpp
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -O2 -Wall -Wextra $< -o $@ -lsimgrid

-include $(BENCH_TOOLS:=.d) $(B)/tests/bench/dctcp.d $(B)/tests/bench/netns_tcp.d
