# SPDX-License-Identifier: LGPL-2.1-or-later
#
# All checks. `check`, `check-vm` and `demo` first install what they need, and then call make again, since this make has
# already read the answers of pkg-config. Each ends with the line "N passed, N failed, N skipped".

JOBS ?= $(shell nproc)
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(JOBS))
RUN = tests/run --jobs=$(JOBS)
# Stories wait more than they compute, so several run at once. None may depend on an idle host.
STORIES_AT_ONCE = $(if $(filter 1,$(JOBS)),1,2)
export B
export ACTORD_BUILD := $(abspath $(B))

FUZZERS := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(filter-out $(if $(CLUSTER),,%/fuzz-slurm.c %/fuzz-hello.c),$(wildcard tests/fuzz/fuzz-*.c)))
BENCHES := $(patsubst tests/bench/%.c,$(B)/bench/%,$(wildcard tests/bench/*.c))
TESTS_style := $(sort $(wildcard tests/check-*.sh tests/check-*.py))
TESTS_host  := $(sort $(wildcard tests/integration/test-*.sh tests/integration/test-*.py))
TESTS_lane  := $(sort $(wildcard tests/integration/lane-*.sh tests/integration/lane-*.py))
TESTS_fresh := $(sort $(wildcard tests/integration/fresh-*.py))
TESTS_trust := $(sort $(wildcard tests/trust/trust-*.py))
TESTS_trust_lane := $(sort $(wildcard tests/trust/lane-*.py))
TESTS_vm    := $(sort $(wildcard tests/vm/vm-*.sh tests/vm/vm-*.py))
PLUGINS := $(patsubst tests/vm/%.c,$(B)/tests/%.so,$(wildcard tests/vm/*-env.c))
# Deadlines end a test that hangs; each leaves room for a machine several times slower than the ones we know.
LANE_SECONDS = 1500
UNIT_SECONDS = 600
HOST_SECONDS = 1500

# Two boots: one of a system on which actord is installed, and one of a system that has never seen it.
LANE = $(if $(TESTS_lane),--deadline=$(LANE_SECONDS) "tests/lane/fast.sh $(TESTS_lane)" "tests/lane/fast.sh --fresh $(TESTS_fresh)")

.PHONY: check packages check-installed check-unit check-host check-bare check-trust check-trust-short check-lane check-style check-vm check-vm-installed
.PHONY: check-reproducible check-clang check-asan check-tsan check-valgrind check-fuzz fuzzers bench bench-peers demo

check:
	@packaging/dependencies.sh build test
	@$(SUBMAKE) packages
	@$(SUBMAKE) check-installed
# EPA SWMM, for the unit tests that use it; without a package index they are skipped.
packages: all
	-@ACTORD_BUILD=$(abspath $(B)) sh -c 'PARITY_REQUIREMENTS=requirements-swmm.txt; . "$$0"' tests/parity/venv.sh >/dev/null
check-installed: all $(UNIT_TESTS) $(FUZZERS) $(B)/bench/instructions
	@LANE_DEADLINE=$$(($(LANE_SECONDS) - 20)) TEST_DEADLINE=600 $(RUN) --deadline=1800 $(TESTS_style) --deadline=$(UNIT_SECONDS) $(UNIT_TESTS) $(FUZZERS) \
                --jobs=$(STORIES_AT_ONCE) --deadline=$(HOST_SECONDS) $(TESTS_host) --jobs=1 $(LANE)

check-unit: all $(UNIT_TESTS)
	@$(RUN) --deadline=$(UNIT_SECONDS) $(UNIT_TESTS)
check-host: all
	@$(RUN) --jobs=$(STORIES_AT_ONCE) --deadline=$(HOST_SECONDS) $(TESTS_host)
check-lane: all
	@LANE_DEADLINE=$$(($(LANE_SECONDS) - 20)) TEST_DEADLINE=600 $(RUN) $(LANE)
# The same tests on a host that offers almost nothing: no service manager, no cgroup, no Landlock; BARE_USER=, BARE_CPUS=, BARE_BUSY= and BARE_QUOTA=
# of tests/lane/bare.sh make it worse.
check-bare: all $(UNIT_TESTS)
	@BARE_DEADLINE=7000 $(RUN) --deadline=7200 "tests/lane/bare.sh $(UNIT_TESTS) $(TESTS_host)"

# Checks that nothing is lost and no stranger gets in: tests/trust. About ten minutes, and a minute for each fuzzer
# on a core of its own. The short form, of .ci/run, takes three minutes. It leaves out the search of the
# fuzzers, since they need a build of their own by clang; `check` replays their seeds.
TRUST = --deadline=3600 $(TESTS_trust) --jobs=1 $(if $(TESTS_trust_lane),"tests/lane/fast.sh $(TESTS_trust_lane)")
check-trust: all
	@$(MAKE_FUZZERS)
	@TRUST_LONG=1 LANE_DEADLINE=3500 TEST_DEADLINE=3400 $(RUN) --jobs=1 $(TRUST) $(call fuzz,60)
check-trust-short: all
	@TRUST_LONG= LANE_DEADLINE=3500 TEST_DEADLINE=3400 $(RUN) --jobs=$(STORIES_AT_ONCE) $(TRUST)
check-style: all $(B)/bench/instructions
	@$(RUN) --deadline=1800 $(TESTS_style)

# `check` does the same with a few files of each kind.
check-reproducible:
	@$(RUN) --deadline=1800 "tests/check-reproducible.sh all"
check-clang: all
	@$(RUN) --deadline=1800 "tests/check-clang.sh all"

check-vm:
	@packaging/dependencies.sh build test vm
	@$(SUBMAKE) check-vm-installed
check-vm-installed: all $(PLUGINS)
	@VM_DEADLINE=2700 $(RUN) --deadline=3000 $(if $(TESTS_vm),"tests/vm/run.sh $(TESTS_vm)")

# Gymnasium in a virtual environment of the build folder, from the package index: our environments number by number against its.
.PHONY: check-parity
check-parity: all
	@$(RUN) --jobs=1 --deadline=3600 tests/parity/run.sh tests/parity/run-newest.sh tests/parity/box2d.sh \
                tests/parity/stormwater.sh tests/parity/atari.sh

# Environments that misbehave, for the virtual machine, which has no compiler.
$(B)/tests/%.so: tests/vm/%.c
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) -std=gnu17 -O2 -fPIC -shared -Iinclude -o $@ $< -lm

# Without address randomisation: the sanitizers' fixed shadow does not fit below every kernel's choice. And without a
# stack of its own for returned frames, which GCC before 14 misaligns for vectors of 64 bytes (its bug 110027).
check-asan:
	@ASAN_OPTIONS=detect_stack_use_after_return=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
                setarch --addr-no-randomize $(SUBMAKE) B=build-asan SANITIZE=address,undefined OPT=-O1 check-unit
check-tsan:
	@TSAN_OPTIONS=halt_on_error=1 \
                setarch --addr-no-randomize $(SUBMAKE) B=build-tsan SANITIZE=thread OPT=-O1 check-unit
check-valgrind: all $(UNIT_TESTS) $(FUZZERS)
	@$(RUN) --deadline=900 tests/valgrind.sh

# A fuzzer is a tests/fuzz/fuzz-X.c with LLVMFuzzerTestOneInput(), its seeds are the files of tests/fuzz/fuzz-X/.
# `check` replays the seeds in the ordinary build; `check-fuzz` searches on from them for a while.
$(B)/fuzz/%.o: CFLAGS_room = $(CFLAGS_control)
$(B)/fuzz/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(CFLAGS_room) -Wno-missing-prototypes -MMD -MP -c -o $@ $<
$(B)/fuzz/%: $(B)/fuzz/%.o $(if $(FUZZING),,$(B)/fuzz/replay.o) $(B)/fixtures.a $(B)/rooms.a
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) $(if $(FUZZING),-fsanitize=fuzzer) -o $@ $^ $(LIBS_test)

# The fuzzing engine is clang's. This build is optimised little, and takes half as long as the ordinary one.
FUZZ_SECONDS ?= 10
FUZZ_BUILD = build-fuzz
MAKE_FUZZERS = ! command -v clang >/dev/null || $(SUBMAKE) B=$(FUZZ_BUILD) CC=clang OPT=-O1 SANITIZE=fuzzer-no-link,address FUZZING=1 fuzzers
fuzz = --jobs=$(JOBS) --deadline=$$(($(1) + 600)) \
       $(foreach fuzzer,$(notdir $(FUZZERS)),"tests/fuzz/search.sh $(FUZZ_BUILD)/fuzz/$(fuzzer) $(1)")
check-fuzz:
	@$(MAKE_FUZZERS)
	@$(RUN) $(call fuzz,$(FUZZ_SECONDS))
fuzzers: $(FUZZERS)

# Prints figures for people, and never fails as a test. BENCH="gradient learn": only these.
$(B)/bench/%.o: CFLAGS_room = $(CFLAGS_control)
# Numbers of instructions of builds with other flags are not compared.
$(B)/bench/instructions.o: CFLAGS_room = $(CFLAGS_control) -DBENCH_FLAGS='"$(strip $(OPT) $(SANITIZE))"'
$(B)/bench/%.o: tests/bench/%.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(CFLAGS_room) -MMD -MP -c -o $@ $<
$(B)/bench/%: $(B)/bench/%.o $(B)/fixtures.a $(B)/rooms.a
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) '-Wl,--export-dynamic-symbol=actord_random_*' -o $@ $^ $(LIBS_test)
bench: all $(BENCHES)
	@tests/bench/run.py $(BENCH)
bench-peers: all
	@tests/bench/peers.py

# A file is checked again only if it, one of its headers or the rules have changed.
$(B)/tidy/%.ok: %.c $(B)/o/%.o .clang-tidy
	@mkdir -p $(@D)
	@clang-tidy --quiet $< -- $(filter-out -fstack-protector-strong,$(ALL_CFLAGS)) $(CFLAGS_control) 2>/dev/null
	@touch $@

demo:
	@packaging/dependencies.sh build
	@$(SUBMAKE) all
	@$(B)/actorctl run examples/cartpole.conf
	@$(B)/actorctl run examples/hopper.conf

# A Slurm cluster on this machine: the tests of actord-cluster, and of jobs on nodes.
TESTS_slurm := $(sort $(wildcard tests/slurm/slurm-*.py))
SLURM_PROGRAMS = $(if $(CLUSTER),$(B)/tests/slurm/player)
# The packages on other releases, whose roots are fetched from their archives once. It takes a quarter of an hour, and is no part of .ci/run.
.PHONY: check-distributions
check-distributions:
	@$(RUN) --deadline=7200 "tests/lane/distributions.sh trixie noble"

.PHONY: check-slurm check-slurm-installed
check-slurm:
	@packaging/dependencies.sh build test slurm
	@$(SUBMAKE) check-slurm-installed
check-slurm-installed: all $(SLURM_PROGRAMS)
	@$(RUN) --jobs=1 --deadline=1700 "tests/slurm/cluster.sh tests/run --tap --deadline=1200 $(TESTS_slurm)"
$(B)/tests/slurm/stand-in.o: tests/slurm/stand-in.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
# Beside a copy of actord-cluster: where that finds its spawner.
$(B)/tests/slurm/player: $(B)/tests/slurm/stand-in.o $(B)/actord-cluster $(call objects,$(SRC_lib))
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $< $(call objects,$(SRC_lib)) -lm
	@cp -f $@ $(@D)/actord-spawn
	@cp -f $(B)/actord-cluster $(@D)/
