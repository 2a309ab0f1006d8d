# SPDX-License-Identifier: Apache-2.0
# One Makefile, without recursion.  'make help' lists the targets.

# ---- What has to be installed: the one list (Debian 12 package names) --------
PACKAGES_BUILD := gcc libc6-dev libcjson-dev libinih-dev libkissfft-dev \
                  uthash-dev clang-14 bpftool libbpf-dev libzmq3-dev libnl-3-dev \
                  libnl-route-3-dev libpcap-dev libmicrohttpd-dev libncurses-dev \
                  libsqlite3-dev libarchive-dev libqhull-dev zlib1g-dev libyaml-dev \
                  libcurl4-openssl-dev
PACKAGES_FIGURES := gnuplot-nox
PACKAGES_TEST  := libcmocka-dev python3 python3-yaml pkgconf scdoc prometheus xz-utils man-db openssl \
                  glpk-utils $(PACKAGES_FIGURES)
PACKAGES_NET   := iproute2 procps curl ethtool iperf3 openmpi-bin libopenmpi-dev mpich libmpich-dev \
                  gfortran lldpd libcap2-bin \
                  slurmctld slurmd slurm-client slurm-wlm-basic-plugins libslurm-dev munge
PACKAGES_TORCH := python3-torch
PACKAGES_KUBE  := golang-1.19-go rsync etcd-server kubernetes-client openssl curl
PACKAGES_LINT  := clang-14 clang-format cppcheck shellcheck
PACKAGES_FUZZ  := clang-14 libclang-rt-14-dev
# nodejs and npm may come from elsewhere, too: any 'npm' on the PATH is good.
PACKAGES_WEB   := $(if $(shell command -v npm),,nodejs npm) chromium
PACKAGES_BENCH := g++ libsimgrid-dev
PACKAGES_FIDELITY := g++ libns3-dev python3 iproute2
# 'make deb', and 'make test-packages'.  packages/debian/control repeats those to build with.
PACKAGES_DEB   := dpkg-dev debhelper scdoc libslurm-dev
PACKAGES_CHECK := lintian debootstrap rpm rpmlint iperf3 iproute2

# ---- How it is compiled --------------------------------------------------------
# As many jobs as processors, unless -j says otherwise.
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
CC      ?= gcc
CXX     ?= g++
CLANG   ?= clang-14
OBJCOPY ?= objcopy
BPFTOOL ?= $(shell command -v bpftool || echo /usr/sbin/bpftool)
SAN     ?=
MACHINE := $(shell $(CC) -dumpmachine | cut -d- -f1)
comma   := ,
B       ?= build/$(subst $(comma),-,$(or $(SAN),release))
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
           -Wpointer-arith -Wconversion -Wno-sign-conversion -Wvla -Wundef
CFLAGS  ?= -O2 -g
# From the tag; without a repository or a tag, the newest version of the changelog.
VERSION := $(patsubst v%,%,$(or $(if $(wildcard .git),$(shell \
           git describe --tags --match 'v[0-9]*' 2>/dev/null)),$(shell \
           sed -n 's/^\#\# \[\([0-9.]*\)\].*/\1/p;T;q' CHANGELOG.md)))
REVISION = $(shell git describe --always --dirty --exclude="*" 2>/dev/null || echo unknown)
BASE_CFLAGS  = -std=gnu17 -D_GNU_SOURCE $(WARN) -I. -Ibuild -isystem /usr/include/libnl3 \
               -ffp-contract=off
SAN_CFLAGS   = $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# What makes a fault of memory harder to use; tests/hardening.sh checks the results.
# Sanitizers do without FORTIFY_SOURCE, which hides calls from them.
HARDEN_CFLAGS = -fstack-protector-strong -fstack-clash-protection \
               $(if $(filter x86_64,$(MACHINE)),-fcf-protection) \
               $(if $(filter aarch64,$(MACHINE)),-mbranch-protection=standard) \
               $(if $(SAN)$(findstring FORTIFY,$(CFLAGS)),,$(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-D_FORTIFY_SOURCE=2))
HARDEN_LDFLAGS = -Wl,-z,relro,-z,now,-z,noexecstack
ALL_CFLAGS   = $(BASE_CFLAGS) $(HARDEN_CFLAGS) $(CFLAGS) -MMD -MP $(SAN_CFLAGS)
ALL_LDFLAGS  = $(HARDEN_LDFLAGS) $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN))
LIBS        := -Wl,--as-needed -lcjson -linih -lkissfft-float -lzmq -lbpf -lnl-route-3 \
               -lnl-3 -lpcap -lmicrohttpd -lncursesw -ltinfo -lsqlite3 -larchive -lz -lqhull_r -lyaml -lcurl -lm
ifneq ($(V),1)
Q   := @
say = @printf '  %-8s %s\n' $(1) $(2)
endif

# ---- Where it is installed ------------------------------------------------------
prefix       ?= /usr/local
bindir       ?= $(prefix)/bin
sbindir      ?= $(prefix)/sbin
sysconfdir   ?= /etc
systemdunitdir ?= $(prefix)/lib/systemd/system
sysusersdir  ?= $(prefix)/lib/sysusers.d
libdir       ?= $(prefix)/lib
includedir   ?= $(prefix)/include
datadir      ?= $(prefix)/share
hookdir      ?= $(libdir)/antiphase
mandir       ?= $(prefix)/share/man
docdir       ?= $(prefix)/share/doc/antiphase
bashcompdir  ?= $(prefix)/share/bash-completion/completions

# ---- What there is ---------------------------------------------------------------
include lib/module.mk bpf/module.mk topology/module.mk collector/module.mk engine/module.mk \
	scheduler/module.mk policies/module.mk sim/module.mk cli/module.mk pacer/module.mk

ARCHIVE_SRCS := $(lib_SRCS) $(topology_SRCS) $(collector_SRCS) $(engine_SRCS) \
	$(scheduler_SRCS) $(policies_SRCS)
SKELETONS    := $(bpf_SRCS:bpf/%.bpf.c=build/bpf/%.skel.h)
ARCHIVE      := $(B)/libantiphase.a
# Daemons whose main file exists.
DAEMONS      := $(if $(wildcard collector/collector.c),$(B)/antiphase-collector) \
                $(if $(wildcard collector/coll_events/coll_events.c),$(B)/antiphase-events) \
                $(if $(wildcard topology/topology.c),$(B)/antiphase-topology) \
                $(if $(wildcard scheduler/scheduler.c),$(B)/antiphase-scheduler)
PROGRAMS     := $(B)/antiphase $(B)/antiphase-sim $(DAEMONS)
# For programs of others: a part of the sources, with the symbols of its map; the number is that of the map, too.
LIBRARY      := $(B)/libantiphase.so.0
LIBRARY_A    := $(B)/public/libantiphase.a
LIBRARY_MAP  := lib/libantiphase.map
PUBLIC_SRCS  := $(lib_PUBLIC) $(topology_PUBLIC) $(engine_PUBLIC) $(scheduler_PUBLIC)
PUBLIC_HEADERS := $(lib_PUBLIC_HEADERS) $(topology_PUBLIC_HEADERS) $(engine_PUBLIC_HEADERS) $(scheduler_PUBLIC_HEADERS)
LIBRARY_LIBS := -Wl,--as-needed -lcjson -lyaml -lm
# Loaded by NCCL into jobs: as few sources as possible.
PLUGIN       := $(B)/libantiphase-nccl-profiler.so
PLUGIN_SRCS  := collector/nccl/profiler.c lib/wire/coll_event.c lib/base/alloc.c lib/base/clk.c
# Loaded into jobs, to shift them: only libc, and as few sources as possible.
PACER        := $(if $(wildcard pacer/*.c),$(B)/libantiphase-pacer.so)
PACER_LIBS   := -ldl -lm
# Loaded by Slurm; built where its headers are, for their release.
SPANK        := $(if $(wildcard /usr/include/slurm/spank.h),$(B)/spank_antiphase.so)
TESTS        := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/test_*.c))
BENCHES      := $(patsubst %.c,$(B)/%,$(wildcard tests/bench/bench_*.c))
FUZZERS      := $(patsubst %.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
COVERERS     := $(patsubst tests/fuzz/fuzz_%.c,build/coverage/tests/fuzz/replay_%,$(wildcard tests/fuzz/fuzz_*.c))
REPLAYS      := $(patsubst tests/fuzz/fuzz_%.c,$(B)/tests/fuzz/replay_%,$(wildcard tests/fuzz/fuzz_*.c))
UNITS        := $(wildcard */*.service.in)
MANPAGES     := $(patsubst docs/man/%.scd,$(B)/man/%,$(wildcard docs/man/*.scd))
# Needs the headers of MPI, which only 'test-net' installs.
MPI_FILES    := $(wildcard tests/net/arl*.c tests/net/collectives.c)
# With each installed MPI, whichever "mpicc" is.
MPI_KINDS    := openmpi mpich
MPI_TESTS    := $(foreach kind,$(MPI_KINDS),$(addprefix $(B)/tests/net/,collectives.$(kind) \
                collectives-f90.$(kind) collectives-f08.$(kind)))
C_DIRS       := bpf lib topology collector engine scheduler policies sim cli pacer tests examples
C_FILES      := $(filter-out $(MPI_FILES) $(if $(SPANK),,scheduler/slurm/hooks/spank_antiphase.c),\
                $(shell find $(C_DIRS) -name '*.[ch]'))
SH_FILES     := .ci/run tests/run tests/net/run $(wildcard packages/*.sh tests/*.sh tests/*/*.sh examples/*.sh examples/*/*.sh \
                scheduler/slurm/hooks/*.sh)

.PHONY: FORCE all help demo demo-live kube deb test-packages test-upgrade web test-web docs-screens test test-hostile test-killed test-net test-torch check bench bench-net bench-pacer bench-pacer-live bench-scheduler bench-wire bench-fidelity lint fuzz fuzz-coverage fuzz-smoke man install clean deps golden-accept repro-cassini
.SECONDARY:
.DELETE_ON_ERROR:

all: $(PROGRAMS) $(PLUGIN) $(PACER) $(SPANK) $(LIBRARY) $(LIBRARY_A) ## build the programs

help: ## show this text
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-14s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

deps: ## install the packages that 'all', 'install' and 'check' need
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST)

demo: ## from a real capture to advice and its gain, in under 30 s
	@sh tests/deps.sh $(PACKAGES_BUILD)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)sh examples/demo.sh $(B)

test: ## run all tests (SAN=address,undefined for sanitizers)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST)
	$(Q)$(MAKE) --no-print-directory check

check: $(PROGRAMS) $(PLUGIN) $(PACER) $(LIBRARY) $(LIBRARY_A) $(TESTS) $(REPLAYS) $(MANPAGES) ## as 'test', without installing packages
	$(Q)B=$(B) sh tests/run $(TESTS)

# In its short form, it is a part of 'test'.
test-hostile: ## attack all daemons under the limits of their units, and print figures (root; JSON=file)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)B=$(B) python3 tests/hostile/run.py --full $(if $(JSON),--json $(JSON))

test-golden: ## compare scheduling policies with published numbers (../shared/data)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST)
	$(Q)$(MAKE) --no-print-directory $(B)/antiphase-sim $(addprefix $(B)/tests/unit/test_,shockwave gavel)
	$(Q)B=$(B) python3 tests/golden_policies/run.py $(CASES)

# Without gnuplot there are no figures, which is not a failure.
repro-cassini: ## the CASSINI paper's experiment, and larger clusters (REPRO=24|all|smoke, OUT=folder)
	@sh tests/deps.sh $(PACKAGES_BUILD)
	-@sh tests/deps.sh $(PACKAGES_FIGURES)
	$(Q)$(MAKE) --no-print-directory $(B)/antiphase-sim
	$(Q)sh examples/studies/cassini.sh $(B) $(or $(OUT),$(B)/repro-cassini) $(or $(REPRO),all)

test-net: ## test with real traffic between network namespaces (root)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST) $(PACKAGES_NET)
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/net/arl $(B)/tests/net/bpf_probe \
		$(B)/tests/net/bpf_inject $(B)/tests/net/slurm_probe \
		$(B)/tests/net/pace_steer $(B)/tests/bench/tcp_flows build/bpf/wire_hash.bpf.o \
		$(MPI_TESTS)
	$(Q)B=$(B) bash tests/net/run

# Needs npm and its registry; 'make all' needs neither.
web: ## make web/dist anew from web/src (npm, esbuild)
	$(Q)cd web && npm ci --ignore-scripts --no-audit --no-fund
	$(Q)cd web && node build.mjs

test-web: ## test the page: figures, layout, web/dist, and in a headless Chromium
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_WEB)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)B=$(B) sh tests/web.sh

docs-screens: ## take the pictures of docs/web.md anew, from a run (npm, Chromium)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_WEB)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)node web/browser/screens.mjs $(B) docs/screens

kube: ## build kube-apiserver and kube-scheduler for 'test-net' (10 min, 3 GiB, once)
	@sh tests/deps.sh $(PACKAGES_KUBE)
	$(Q)sh tests/kube_build.sh build/kube

# DEB_REVISION: the part of the version behind the hyphen, 1 unless given.
deb: ## build Debian packages into $(B)/deb
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_DEB)
	$(Q)sh packages/deb.sh $(B)/deb '$(VERSION)' '$(REVISION)' $(DEB_REVISION)

test-packages: ## build the packages twice, install, upgrade and purge them in a Debian 12 (root, slow)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_DEB) $(PACKAGES_CHECK)
	$(Q)B=$(B) PACKAGES_BUILD='$(PACKAGES_BUILD)' PACKAGES_DEB='$(PACKAGES_DEB)' \
		VERSION='$(VERSION)' REVISION='$(REVISION)' sh tests/packages/run.sh

test-upgrade: ## upgrade and downgrade beside an older revision, with running jobs (a minute and its build; FROM)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST)
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/net/pace_steer
	$(Q)B=$(B) sh tests/upgrade/run.sh $(FROM)

test-killed: ## kill antiphase-scheduler 1,000 times over a real Slurm (root, slow)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST) $(PACKAGES_NET)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)B=$(B) KILLS=$(or $(KILLS),1000) LIMIT_S=3600 bash tests/net/run scheduler_killed

demo-live: ## real MPI jobs under Slurm, without and with antiphase (root, 28 min; DEMO_CASES)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_NET)
	$(Q)$(MAKE) --no-print-directory all $(SPANK) $(B)/tests/net/arl
	$(Q)B=$(B) bash tests/net/demo_live.sh $(DEMO_OPTIONS)

test-torch: ## test with PyTorch DDP over gloo (root, slow)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST) $(PACKAGES_NET) $(PACKAGES_TORCH)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)B=$(B) bash tests/net/run --torch

bench-net: ## measure the collector's cost on real traffic (root)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_NET)
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/net/bpf_cost build/bpf/wire_hash.bpf.o
	$(Q)B=$(B) bash tests/net/bench.sh
	$(Q)B=$(B) bash tests/net/bench_moved.sh

bench-wire: ## measure frames a second and loss of one receiver
	@sh tests/deps.sh $(PACKAGES_BUILD)
	$(Q)$(MAKE) --no-print-directory $(B)/tests/bench/bench_wire
	$(Q)$(B)/tests/bench/bench_wire

bench-pacer: ## measure what the pacer costs a collective
	@sh tests/deps.sh $(PACKAGES_BUILD)
	$(Q)$(MAKE) --no-print-directory $(B)/tests/bench/bench_pacer
	$(Q)$(B)/tests/bench/bench_pacer

bench-pacer-live: ## measure an MPI job with and without the pacer, in pairs (root, 3 min; PAIRS)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_NET)
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/net/arl
	$(Q)B=$(B) bash tests/net/bench_pacer.sh

bench-scheduler: ## measure antiphase-scheduler with 10,000 jobs on 20,000 links
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST)
	$(Q)$(MAKE) --no-print-directory all $(B)/tests/bench/live_many
	$(Q)B=$(B) python3 tests/bench/scheduler_size.py
	$(Q)B=$(B) python3 tests/bench/scheduler_live.py

bench: ## measure solver, fabric, and simulator against SimGrid
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_BENCH)
	$(Q)$(MAKE) --no-print-directory bench-run

bench-fidelity: ## measure how far the simulator is from packets (ns-3 or TCP; FIDELITY_OPTIONS)
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_FIDELITY)
	$(Q)$(MAKE) --no-print-directory bench-fidelity-run

lint: ## format, layers, externs, circles, warnings of both compilers, cppcheck, shellcheck
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_TEST) $(PACKAGES_LINT)
	$(Q)$(MAKE) --no-print-directory all build/bpf/inject.skel.h build/bpf/dctcp.skel.h
	$(Q)B=$(B) CC=gcc CLANG=$(CLANG) FLAGS='$(BASE_CFLAGS)' sh tests/lint.sh '$(C_FILES)' '$(SH_FILES)'

fuzz: ## build the libFuzzer targets; HOURS=8: run them all in turn for that CPU time
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_FUZZ)
	$(Q)$(MAKE) --no-print-directory $(FUZZERS)
	$(if $(HOURS),$(Q)python3 tests/fuzz/hours.py $(HOURS) $(FUZZERS))

fuzz-coverage: ## lines that each fuzz target's inputs reach, as the table of docs/tests.md
	@sh tests/deps.sh $(PACKAGES_BUILD) $(PACKAGES_FUZZ) llvm-14
	$(Q)$(MAKE) --no-print-directory $(COVERERS)
	$(Q)python3 tests/fuzz/coverage.py $(COVERERS)

fuzz-smoke: ## run each fuzz target over its seeds, reproducibly; or for FUZZ_SECONDS
	$(Q)$(MAKE) --no-print-directory fuzz HOURS=
	$(Q)FUZZ_SECONDS=$(FUZZ_SECONDS) sh tests/fuzz/smoke.sh $(FUZZERS)

golden-accept: $(PROGRAMS) ## rewrite the expected output of golden tests, and the output in pages
	$(Q)B=$(B) sh tests/golden/run.sh --accept
	$(Q)sh examples/readme.sh $(B)

man: $(MANPAGES) ## manual pages (scdoc)

install: all man ## install into DESTDIR
	install -d $(DESTDIR)$(bindir) $(DESTDIR)$(sbindir) $(DESTDIR)$(mandir)/man1 \
		$(DESTDIR)$(mandir)/man5 $(DESTDIR)$(mandir)/man7 $(DESTDIR)$(mandir)/man8 $(DESTDIR)$(systemdunitdir) \
		$(DESTDIR)$(sysusersdir) $(DESTDIR)$(sysconfdir)/antiphase/conf.d \
		$(DESTDIR)$(docdir)/examples $(DESTDIR)$(bashcompdir)
	install -m 755 $(filter-out $(DAEMONS),$(PROGRAMS)) $(DESTDIR)$(bindir)
	install -m 755 $(DAEMONS) $(DESTDIR)$(sbindir)
	for unit in $(UNITS); do \
		name=$${unit##*/} && \
		sed -e 's|@sbindir@|$(sbindir)|g' -e 's|@bindir@|$(bindir)|g' -e 's|@sysconfdir@|$(sysconfdir)|g' $$unit \
			>$(DESTDIR)$(systemdunitdir)/$${name%.in} && \
		chmod 644 $(DESTDIR)$(systemdunitdir)/$${name%.in} || exit 1; done
	install -m 644 collector/antiphase.sysusers $(DESTDIR)$(sysusersdir)/antiphase.conf
	if [ ! -e $(DESTDIR)$(sysconfdir)/antiphase/antiphase.conf ]; then \
		install -m 644 collector/antiphase.conf \
			$(DESTDIR)$(sysconfdir)/antiphase/antiphase.conf; fi
	install -d $(DESTDIR)$(libdir)
	install -m 755 $(PLUGIN) $(PACER) $(DESTDIR)$(libdir)
	install -m 755 $(LIBRARY) $(DESTDIR)$(libdir)
	ln -sf $(notdir $(LIBRARY)) $(DESTDIR)$(libdir)/libantiphase.so
	install -m 644 $(LIBRARY_A) $(DESTDIR)$(libdir)
	install -d $(DESTDIR)$(libdir)/pkgconfig
	sed -e 's|@prefix@|$(prefix)|' -e 's|@libdir@|$(libdir)|' -e 's|@includedir@|$(includedir)|' \
		-e 's|@version@|$(VERSION)|' lib/antiphase.pc.in >$(DESTDIR)$(libdir)/pkgconfig/antiphase.pc
	chmod 644 $(DESTDIR)$(libdir)/pkgconfig/antiphase.pc
	for header in $(PUBLIC_HEADERS); do \
		install -D -m 644 $$header $(DESTDIR)$(includedir)/antiphase/$$header || exit 1; done
	install -d $(DESTDIR)$(includedir)/antiphase $(DESTDIR)$(datadir)/antiphase
	install -m 644 pacer/pacer.h $(DESTDIR)$(includedir)/antiphase
	install -m 644 pacer/antiphase_ddp.py lib/python/antiphase.py $(DESTDIR)$(datadir)/antiphase
	install -d $(DESTDIR)$(hookdir)
	$(if $(SPANK),install -m 755 $(SPANK) $(DESTDIR)$(hookdir))
	for hook in job_submit.lua task_prolog.sh prolog_slurmctld.sh; do \
		sed -e 's|@libdir@|$(libdir)|g' -e 's|@hookdir@|$(hookdir)|g' -e 's|@bindir@|$(bindir)|g' -e 's|@sysconfdir@|$(sysconfdir)|g' \
			scheduler/slurm/hooks/$$hook >$(DESTDIR)$(hookdir)/$$hook && \
		chmod 755 $(DESTDIR)$(hookdir)/$$hook || exit 1; done
	chmod 644 $(DESTDIR)$(hookdir)/job_submit.lua
	for page in $(MANPAGES); do \
		to=$(DESTDIR)$(mandir)/man$${page##*.}/$${page##*/} && \
		sed -e 's|/usr/local/lib/antiphase|$(hookdir)|g' -e 's|/usr/local/lib/|$(libdir)/|g' \
			-e 's|/usr/local/|$(prefix)/|g' $$page >$$to && chmod 644 $$to || exit 1; done
	install -m 644 cli/completion.bash $(DESTDIR)$(bashcompdir)/antiphase
	install -m 644 README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE $(DESTDIR)$(docdir)
	install -d $(DESTDIR)$(docdir)/docs/dashboards $(DESTDIR)$(docdir)/docs/policies $(DESTDIR)$(docdir)/docs/screens
	install -m 644 docs/*.md docs/openapi.json $(DESTDIR)$(docdir)/docs
	install -m 644 docs/dashboards/* $(DESTDIR)$(docdir)/docs/dashboards
	install -m 644 docs/policies/*.md $(DESTDIR)$(docdir)/docs/policies
	install -m 644 docs/screens/*.png $(DESTDIR)$(docdir)/docs/screens
	install -m 644 $(wildcard examples/*.*) $(DESTDIR)$(docdir)/examples
	install -d $(DESTDIR)$(docdir)/examples/models $(DESTDIR)$(docdir)/examples/python
	install -m 644 examples/python/*.py $(DESTDIR)$(docdir)/examples/python
	install -m 644 examples/models/*.json $(DESTDIR)$(docdir)/examples/models
	install -d $(DESTDIR)$(docdir)/examples/chakra $(DESTDIR)$(docdir)/examples/kubernetes
	install -m 644 examples/chakra/* $(DESTDIR)$(docdir)/examples/chakra
	install -m 644 examples/kubernetes/* $(DESTDIR)$(docdir)/examples/kubernetes

clean: ## remove build/
	$(Q)rm -rf build

# ---- How each kind of file is made ------------------------------------------------
$(B)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -c $< -o $@

# Rewritten only if it changed, so that --version is right.
$(B)/revision: FORCE
	$(Q)mkdir -p $(@D) && echo $(REVISION) >$@.new
	$(Q)if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
FORCE:

# The page, compressed; web/README.md says how web/dist is made.
WEB_FILES := $(patsubst web/dist/%,build/web/%.gz,$(filter-out %.sha256,$(wildcard web/dist/*)))
build/web/%.gz: web/dist/%
	$(call say,GZIP,$<)
	$(Q)mkdir -p $(@D) && gzip -9 -n <$< >$@
$(B)/lib/daemon/web_files.o build/fuzz/lib/daemon/web_files.o: $(WEB_FILES)

$(B)/lib/base/cli.o: $(B)/revision
$(B)/lib/base/cli.o: ALL_CFLAGS += -DANTIPHASE_VERSION='"$(VERSION)"' \
	-DANTIPHASE_REVISION='"$(REVISION)"'

# BPF programs are the same for every flavour of the build, and wherever the tree is.
build/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -g -O2 -mcpu=v3 -Wall -Wextra -Werror -fdebug-compilation-dir=. -target bpf -D__TARGET_ARCH_x86 \
		-I/usr/include/x86_64-linux-gnu -I. -MMD -MP -c $< -o $@

# Of tests.
build/bpf/%.bpf.o: tests/net/%.bpf.c
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -g -O2 -mcpu=v3 -Wall -Wextra -Werror -fdebug-compilation-dir=. -target bpf -D__TARGET_ARCH_x86 \
		-I/usr/include/x86_64-linux-gnu -I. -MMD -MP -c $< -o $@

build/bpf/%.skel.h: build/bpf/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@

$(collector_SRCS:%.c=$(B)/%.o) $(collector_MAINS:%.c=$(B)/%.o) $(collector_SRCS:%.c=build/fuzz/%.o) $(collector_SRCS:%.c=build/coverage/%.o): | $(SKELETONS)
$(B)/tests/unit/test_bpf_programs.o $(B)/tests/unit/test_port_translate.o $(B)/tests/bench/bench_ports.o: | $(SKELETONS)
$(B)/tests/net/bpf_inject.o: | build/bpf/inject.skel.h

$(ARCHIVE): $(ARCHIVE_SRCS:%.c=$(B)/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(B)/antiphase: $(cli_SRCS:%.c=$(B)/%.o) $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) $(LIBS)

$(B)/antiphase-sim: $(sim_SRCS:%.c=$(B)/%.o) $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) $(LIBS)

$(B)/antiphase-collector: $(B)/collector/collector.o $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) $(LIBS)

$(B)/antiphase-events: $(B)/collector/coll_events/coll_events.o $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) $(LIBS)

$(PLUGIN): $(PLUGIN_SRCS:%.c=$(B)/pic/%.o)
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) $^ -o $@ $(if $(SAN),,-Wl,-z$(comma)defs) $(ALL_LDFLAGS) -pthread

$(PACER): $(pacer_SRCS:%.c=$(B)/pic/%.o)
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) $^ -o $@ $(if $(SAN),,-Wl,-z$(comma)defs) $(ALL_LDFLAGS) $(PACER_LIBS)

$(B)/shared/%.o: %.c
	$(call say,CC-PIC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -c $< -o $@

$(LIBRARY): $(PUBLIC_SRCS:%.c=$(B)/shared/%.o) $(LIBRARY_MAP)
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=$(LIBRARY_MAP) -Wl,-Bsymbolic-functions \
		$(filter %.o,$^) -o $@ $(if $(SAN),,-Wl,-z$(comma)defs) $(ALL_LDFLAGS) $(LIBRARY_LIBS)

# One object, so that all other symbols can be local.
$(LIBRARY_A): $(PUBLIC_SRCS:%.c=$(B)/shared/%.o) $(LIBRARY_MAP)
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)sed -n 's/^\t\([a-z0-9_]*\);$$/\1/p' $(LIBRARY_MAP) >$(@D)/symbols
	$(Q)$(LD) -r $(filter %.o,$^) -o $(@D)/antiphase.o
	$(Q)$(OBJCOPY) --keep-global-symbols=$(@D)/symbols $(@D)/antiphase.o
	$(Q)rm -f $@ && ar rcs $@ $(@D)/antiphase.o

# Without sanitizers, as the programs that load it are.
$(B)/spank_antiphase.so: scheduler/slurm/hooks/spank_antiphase.c
	$(call say,CC-SPANK,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(BASE_CFLAGS) $(HARDEN_CFLAGS) $(CFLAGS) -fPIC -shared $< -o $@ $(HARDEN_LDFLAGS)

$(B)/pic/%.o: %.c
	$(call say,CC-PIC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -fvisibility=hidden -c $< -o $@

$(B)/antiphase-topology: $(B)/topology/topology.o $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) $(LIBS)

$(B)/antiphase-scheduler: $(B)/scheduler/scheduler.o $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) $(LIBS)

# What sim/ has besides its main program, pacer/ besides its hooks and cli/ besides its verbs may be tested, too.
SIM_TESTABLE := $(filter-out sim/sim.c,$(sim_SRCS)) $(pacer_TESTABLE) $(cli_TESTABLE)
$(B)/tests/unit/%: $(B)/tests/unit/%.o $(SIM_TESTABLE:%.c=$(B)/%.o) $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) -lcmocka $(LIBS)

$(B)/tests/bench/%: $(B)/tests/bench/%.o $(SIM_TESTABLE:%.c=$(B)/%.o) $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) $(LIBS)

# Its mixes are those of a unit test.
$(B)/tests/bench/bench_steer $(B)/tests/bench/bench_settle: private ALL_LDFLAGS += -lcmocka

$(B)/tests/net/%: $(B)/tests/net/%.o $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) $(LIBS)

$(B)/tests/net/arl: tests/net/arl.c
	$(call say,MPICC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)OMPI_CC="$(CC)" mpicc -std=gnu17 -D_GNU_SOURCE $(WARN) -Werror $(CFLAGS) $< -o $@

# MPICH's wrapper takes its compiler from the environment, too, by another name.
$(B)/tests/net/collectives.%: tests/net/collectives.c
	$(call say,MPICC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)OMPI_CC="$(CC)" MPICH_CC="$(CC)" mpicc.$* -std=gnu17 -D_GNU_SOURCE $(WARN) -Werror $(CFLAGS) $< \
		-o $@ -pthread

$(B)/tests/net/collectives-f90.%: tests/net/collectives.f90
	$(call say,MPIFORT,$@)
	$(Q)mkdir -p $(@D)
	$(Q)mpifort.$* -O2 -g -cpp -ffree-line-length-none $< -o $@

$(B)/tests/net/collectives-f08.%: tests/net/collectives.f90
	$(call say,MPIFORT,$@)
	$(Q)mkdir -p $(@D)
	$(Q)mpifort.$* -O2 -g -cpp -ffree-line-length-none -DF08 $< -o $@

$(B)/tests/unit/test_nccl_profiler: | $(PLUGIN)

# What stands in for MPI, NCCL and CUDA under the pacer, as a library behind it.
JOB_STUB := $(B)/tests/unit/libjob-stub.so
$(JOB_STUB): tests/unit/job_stub.c tests/unit/job_stub.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -shared -fPIC -Wl,-soname,libjob-stub.so $< -o $@
PACER_TESTS := $(B)/tests/unit/test_pacer_hooks $(B)/tests/unit/test_pacer_process
$(PACER_TESTS) $(B)/tests/bench/bench_pacer: $(JOB_STUB) | $(PACER)
$(PACER_TESTS): private ALL_LDFLAGS += -Wl,-rpath,'$$ORIGIN'
$(B)/tests/bench/bench_pacer: private ALL_LDFLAGS += -Wl,-rpath,'$$ORIGIN/../unit'

# A fuzz target with a plain main() that replays files: kept crashers in 'make test'.
$(B)/tests/fuzz/replay_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/replay.o \
		$(SIM_TESTABLE:%.c=$(B)/%.o) $(ARCHIVE)
	$(call say,LINK,$@)
	$(Q)$(CC) $^ -o $@ $(ALL_LDFLAGS) $(LIBS)

# Everything once with the fuzzer's instrumentation, then one link a target.
FUZZ_SAN    := -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_CFLAGS  = $(BASE_CFLAGS) -O1 -g -MMD -MP -DANTIPHASE_VERSION='"fuzz"' \
	-DANTIPHASE_REVISION='"fuzz"' -fsanitize=fuzzer-no-link $(FUZZ_SAN)
build/fuzz/%.o: %.c
	$(call say,FUZZ-CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_CFLAGS) -c $< -o $@

build/fuzz/libantiphase.a: $(ARCHIVE_SRCS:%.c=build/fuzz/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

build/fuzz/tests/fuzz/fuzz_%: build/fuzz/tests/fuzz/fuzz_%.o \
		$(SIM_TESTABLE:%.c=build/fuzz/%.o) build/fuzz/libantiphase.a
	$(call say,FUZZ,$@)
	$(Q)$(CLANG) $^ -o $@ -fsanitize=fuzzer $(FUZZ_SAN) $(LIBS)

# The same, replaying files, and counting the lines that they reach.
COVERAGE_CFLAGS = $(BASE_CFLAGS) -O1 -g -MMD -MP -DANTIPHASE_VERSION='"fuzz"' \
	-DANTIPHASE_REVISION='"fuzz"' -fprofile-instr-generate -fcoverage-mapping
build/coverage/%.o: %.c
	$(call say,COVER-CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(COVERAGE_CFLAGS) -c $< -o $@

build/coverage/libantiphase.a: $(ARCHIVE_SRCS:%.c=build/coverage/%.o)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

build/coverage/tests/fuzz/replay_%: build/coverage/tests/fuzz/fuzz_%.o build/coverage/tests/fuzz/replay.o \
		$(SIM_TESTABLE:%.c=build/coverage/%.o) build/coverage/libantiphase.a
	$(call say,COVER,$@)
	$(Q)$(CLANG) $^ -o $@ -fprofile-instr-generate $(LIBS)

$(B)/man/%: docs/man/%.scd
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D) && scdoc <$< >$@

-include tests/bench/module.mk
# Sources of folders that are still empty are no error.
-include $(wildcard $(B)/tests/net/*.d)
-include $(patsubst %.c,$(B)/%.d,$(ARCHIVE_SRCS) $(cli_SRCS) $(sim_SRCS) $(pacer_TESTABLE) $(collector_MAINS) \
	$(topology_MAINS) $(scheduler_MAINS)) \
	$(patsubst %.c,$(B)/pic/%.d,$(PLUGIN_SRCS) $(pacer_SRCS)) $(PUBLIC_SRCS:%.c=$(B)/shared/%.d) $(TESTS:=.d) $(BENCHES:=.d) $(FUZZERS:=.d) \
	$(patsubst %.c,build/fuzz/%.d,$(ARCHIVE_SRCS) $(SIM_TESTABLE)) \
	$(patsubst %.c,build/coverage/%.d,$(ARCHIVE_SRCS) $(SIM_TESTABLE) $(wildcard tests/fuzz/*.c)) \
	$(patsubst %.c,$(B)/%.d,$(wildcard tests/fuzz/*.c)) \
	$(bpf_SRCS:bpf/%.c=build/bpf/%.d)
