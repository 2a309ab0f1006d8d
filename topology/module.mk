# SPDX-License-Identifier: Apache-2.0
# The service's main file is not in the archive.
topology_MAINS := topology/topology.c
topology_SRCS  := $(filter-out $(topology_MAINS),$(wildcard topology/*.c))
# In libantiphase: fabrics, their readers and writers, routes, collectives.
topology_PUBLIC := $(filter-out $(topology_MAINS) topology/in_lldp.c topology/out_k8s.c \
                   topology/collective_phases.c,$(wildcard \
                   $(patsubst %,topology/%*.c,address_table collective domains gen in_ json_ k8s_ out_ read rout topo)))
topology_PUBLIC_HEADERS := $(patsubst %,topology/%.h,topo gen read write route collective)
