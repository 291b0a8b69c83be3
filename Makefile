# SPDX-License-Identifier: LGPL-2.1-or-later
#
# make            builds into build/; build/actorctl and build/actord work from there without installation
# make demo       installs what is missing, builds, trains CartPole and Hopper
# make MUJOCO=DIR the same, and the MuJoCo tasks on the release in DIR, too
# make check      installs what the tests need, and runs each test that this machine can run
# make check-vm   the tests that need every cgroup controller, in a virtual machine
# make V=1        the same with every command shown
# make check-asan check-tsan check-valgrind check-style check-fuzz check-parity check-clang check-distributions check-reproducible bench bench-peers
# make install    DESTDIR= PREFIX=/usr
#
# A new file in a folder of the source is built without a line here.

B ?= build
PREFIX ?= /usr
LIBEXECDIR ?= $(PREFIX)/lib/actord
DATADIR ?= $(PREFIX)/share/actord
VERSION := 0.1.0

CC ?= gcc
OPT ?= -O2
SANITIZE ?=
CFLAGS ?= -g $(OPT)
# Results must not depend on what a compiler fuses: no contraction anywhere, and never -ffast-math.
# No byte of a build depends on its place or time: no absolute path, no date, and lists of files in one fixed order.
ALL_CFLAGS = -std=gnu17 -D_GNU_SOURCE -I. -I$(B) $(CFLAGS) -ffp-contract=off -fno-math-errno -fno-strict-aliasing \
        -ffile-prefix-map=$(CURDIR)=. -Wdate-time -fstack-protector-strong -fPIE -fvisibility=hidden \
        -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wundef -Wpointer-arith -Wvla -Wformat=2 \
        -Wno-unused-parameter -Wno-missing-field-initializers -Wno-format-nonliteral -Werror=implicit -Werror=return-type \
        $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -DACTORD_SANITIZE=1) \
        -DACTORD_VERSION='"$(VERSION)"' -DACTORD_LIBEXECDIR='"$(LIBEXECDIR)"' -DACTORD_DATADIR='"$(DATADIR)"'
# One short line for each file that is made; none with -s, the whole command with V=1.
V ?= 0
silent = $(findstring s,$(filter-out -%,$(firstword $(MAKEFLAGS))))
say = $(if $(filter 0,$(V)),@$(if $(silent),,printf '  %-4s %s\n' $(1) $@;))

ALL_LDFLAGS = -pie -Wl,-z,relro,-z,now -Wl,--as-needed $(LDFLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE))

# The part of lib/ that only the control side (daemon, actorctl) may use: these files link GLib.
LIB_CONTROL := lib/settings/settings.c lib/settings/problems.c lib/settings/check.c lib/settings/check-learner.c lib/settings/text.c lib/settings/inner.c lib/settings/repeated.c lib/settings/cpus.c lib/settings/convolutions.c lib/settings/shares-text.c lib/nearest.c lib/sanitise.c lib/sheets.c

# The part of lib/ that only the learner, the daemon and actorctl use: these files link nettle.
LIB_TENSORS := lib/checkpoint/safetensors-read.c lib/checkpoint/safetensors-write.c lib/checkpoint/checkpoint.c

SRC_lib      := $(sort $(filter-out $(LIB_CONTROL) $(LIB_TENSORS),$(wildcard lib/*.c lib/*/*.c)))
SRC_tensors  := $(LIB_TENSORS)
SRC_control  := $(sort $(wildcard $(LIB_CONTROL)))
SRC_daemon   := $(sort $(wildcard daemon/*.c daemon/*/*.c))
SRC_spawner  := $(sort $(wildcard spawner/*.c))
SRC_sandbox  := $(sort $(wildcard sandbox/*.c))
SRC_actor    := $(sort $(wildcard actor/*.c actor/envs/*.c))
SRC_invoker  := $(sort $(wildcard invoker/*.c))
SRC_trial    := $(sort $(wildcard actor/trial/*.c))
# These two call actors: a learner that also acts, and a whole job inside an actor. No other program links them.
SRC_fused    := learner/fused.c
SRC_job      := $(sort $(wildcard learner/job/*.c))
SRC_learner  := $(sort $(filter-out $(SRC_fused) $(SRC_job),$(wildcard learner/*.c learner/*/*.c)))
SRC_actorctl := $(sort $(wildcard actorctl/*.c actorctl/*/*.c))
# lib/terms.c is used by the parser of job files, too.
SRC_mujoco   := $(sort $(wildcard actor/envs/mujoco/*.c) lib/terms.c)
SRC_gym      := $(sort $(wildcard actor/envs/gym/*.c))
SRC_box2d    := $(sort $(wildcard actor/envs/box2d/*.c))
SRC_swmm     := $(sort $(wildcard actor/envs/swmm/*.c))
SRC_dataset  := $(sort $(wildcard lib/dataset/hdf5/*.c))
SRC_cluster  := $(sort $(wildcard cluster/*.c))

# Below o/, since the folder actorctl/ and the program have one name.
objects = $(patsubst %.c,$(B)/o/%.o,$(1))
module_objects = $(patsubst %.c,$(B)/pic/%.o,$(1))

PKG = pkg-config
CFLAGS_control := $(shell $(PKG) --cflags glib-2.0 libsystemd sqlite3 json-glib-1.0 smartcols yaml-0.1 2>/dev/null)
LIBS_lib      := -lm
LIBS_spawner   = $(shell $(PKG) --libs libsystemd) -lm
LIBS_invoker   = $(shell $(PKG) --libs libseccomp libcap) -ldl -lm
LIBS_learner   = $(shell $(PKG) --libs nettle libseccomp) -lpthread -lm
LIBS_daemon    = $(shell $(PKG) --libs glib-2.0 libsystemd sqlite3 nettle) -lm
LIBS_actorctl  = $(shell $(PKG) --libs glib-2.0 libsystemd json-glib-1.0 smartcols yaml-0.1 nettle) -lm
LIBS_test      = $(shell $(PKG) --libs glib-2.0 gio-2.0 libsystemd sqlite3 json-glib-1.0 smartcols yaml-0.1 libseccomp libcap nettle) $(LIBS_cluster) -ldl -lpthread -lm

MODULES  := $(B)/env-mujoco.so $(B)/env-box2d.so $(B)/env-swmm.so $(B)/env-job.so $(B)/fused.so
# Two parts are optional: the bridge to Python, and data sets.
PYTHON_VERSION := $(shell $(PKG) --modversion python3-embed 2>/dev/null)
ifneq ($(PYTHON_VERSION),)
MODULES  += $(B)/env-gym.so
else
$(info env-gym.so is not built, and Environment=gym:ID will not load: python3-embed.pc is missing (install python3-dev))
endif
# Data sets in HDF5: in Debian the serial library has a name of its own.
HDF5 := $(firstword $(foreach p,hdf5-serial hdf5,$(shell $(PKG) --exists $(p) 2>/dev/null && echo $(p))))
ifneq ($(HDF5),)
MODULES  += $(B)/dataset.so
CFLAGS_hdf5 := $(patsubst -I%,-isystem %,$(shell $(PKG) --cflags $(HDF5)))
else
$(info dataset.so is not built, and data sets can be neither written nor read: hdf5.pc is missing (install libhdf5-dev))
endif
# Nodes of a cluster: munge has no .pc file in Debian 12.
CLUSTER := $(shell $(PKG) --exists gnutls 2>/dev/null && echo '\#include <munge.h>' | $(CC) -E -o /dev/null - 2>/dev/null && echo yes)
ifneq ($(CLUSTER),)
CLUSTER_PROGRAM := $(B)/actord-cluster
SRC_cluster_linked := $(SRC_cluster)
LIBS_cluster = $(shell $(PKG) --libs gnutls) -lmunge
else
$(info actord-cluster is not built, and Cluster=slurm will be refused: gnutls.pc or munge.h is missing (install libgnutls28-dev libmunge-dev))
endif
# make MUJOCO=DIR builds our tasks on another MuJoCo too, for Engine=. DIR has include/ and libmujoco.so.RELEASE, as Python's package
# `mujoco` has. The library is copied beside the module, which finds it there.
MUJOCO ?=
ifneq ($(MUJOCO),)
MUJOCO_LIBRARY := $(firstword $(wildcard $(MUJOCO)/libmujoco.so.*.* $(MUJOCO)/lib/libmujoco.so.*.*))
ifeq ($(MUJOCO_LIBRARY),)
$(error MUJOCO=$(MUJOCO) has no libmujoco.so.RELEASE: name the folder of an unpacked release, or of Python's mujoco package)
endif
MUJOCO_ENGINE := $(B)/env-mujoco-$(patsubst libmujoco.so.%,%,$(notdir $(MUJOCO_LIBRARY))).so
MODULES  += $(MUJOCO_ENGINE)
endif
PROGRAMS := $(B)/actord $(B)/actorctl $(B)/actord-spawn $(B)/actord-invoker $(B)/actord-learner $(CLUSTER_PROGRAM) $(MODULES)
# A test's source lies in a folder named after the room that it tests; all test programs lie in one folder.
UNIT_SOURCES := $(sort $(filter-out $(if $(CLUSTER),,tests/unit/cluster/%),$(wildcard tests/unit/*/test-*.c)))
UNIT_TESTS := $(patsubst %.c,$(B)/tests/%,$(notdir $(UNIT_SOURCES)))

.PHONY: all
all: $(PROGRAMS) $(B)/share
	@:

$(B)/o/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(CFLAGS_room) -MMD -MP -c -o $@ $<

$(call objects,$(SRC_control) $(SRC_daemon) $(SRC_actorctl)): CFLAGS_room = $(CFLAGS_control)
$(B)/tests/%.o: CFLAGS_room = $(CFLAGS_control)
# Kernels: constant trip counts and independent accumulators are worth unrolling; the results stay as written.
KERNELS := lib/kernel.c learner/curvature/hessian.c learner/kernel/convolution.c learner/tape/tape.c $(wildcard learner/kernel/kernels*.c)
$(call objects,$(KERNELS)) $(call module_objects,$(KERNELS)): CFLAGS_room = -O3

$(B)/actord: $(call objects,$(SRC_daemon) $(SRC_control) $(SRC_tensors) $(SRC_lib))
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_daemon)
$(B)/actorctl: $(call objects,$(SRC_actorctl) $(SRC_control) $(SRC_tensors) $(SRC_lib))
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_actorctl)
$(B)/actord-spawn: $(call objects,$(SRC_spawner) $(SRC_lib))
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_spawner)
# Plugins resolve actord_random_*() in the program that loads them: only these are exported.
$(B)/actord-invoker: $(call objects,$(SRC_invoker) $(SRC_sandbox) $(SRC_actor) $(SRC_trial) $(SRC_lib))
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) '-Wl,--export-dynamic-symbol=actord_random_*' -o $@ $^ $(LIBS_invoker)
$(B)/actord-learner: $(call objects,$(SRC_learner) $(SRC_tensors) $(SRC_lib))
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_learner)
$(B)/actord-cluster: $(call objects,$(SRC_cluster) $(SRC_lib))
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS_cluster) -lm

# Each of these is compiled by one command, and again when a contract or a header that environments share changes.
CONTRACTS := $(wildcard include/*.h include/actord/*.h actor/envs/*.h)
# Environments on libmujoco are a module, which only an administrator installs, so that actors without physics do not load the library.
$(B)/env-mujoco.so: $(SRC_mujoco) $(wildcard actor/envs/mujoco/*) lib/terms.h $(CONTRACTS)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(filter-out -fPIE -Wundef,$(ALL_CFLAGS)) -fPIC -shared -o $@ $(SRC_mujoco) $(LDFLAGS) -lmujoco -lm

ifneq ($(MUJOCO),)
$(MUJOCO_ENGINE): $(SRC_mujoco) $(wildcard actor/envs/mujoco/*) lib/terms.h $(CONTRACTS) $(MUJOCO_LIBRARY)
	@mkdir -p $(@D)
	@cp $(MUJOCO_LIBRARY) $(@D)/
	$(call say,LINK)$(CC) $(filter-out -fPIE -Wundef,$(ALL_CFLAGS)) -isystem $(MUJOCO)/include -fPIC -shared -o $@ $(SRC_mujoco) $(LDFLAGS) \
                $(@D)/$(notdir $(MUJOCO_LIBRARY)) -Wl,-rpath,'$$ORIGIN' -lm
endif

# A job inside an actor: acting and learning in one module.
$(B)/pic/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(filter-out -fPIE,$(ALL_CFLAGS)) -fPIC $(CFLAGS_room) -MMD -MP -c -o $@ $<
$(B)/env-job.so: $(call module_objects,$(SRC_job) $(filter-out learner/main.c,$(SRC_learner)) $(SRC_actor) $(SRC_tensors) $(SRC_lib))
	$(call say,LINK)$(CC) $(filter-out -pie,$(ALL_LDFLAGS)) -shared -o $@ $^ $(LIBS_learner) -ldl
# A learner that also acts: under Policy=fused the job starts it instead of actord-learner.
$(B)/fused.so: $(call module_objects,$(SRC_fused) $(filter-out learner/main.c,$(SRC_learner)) $(SRC_actor) $(SRC_tensors) $(SRC_lib))
	$(call say,LINK)$(CC) $(filter-out -pie,$(ALL_LDFLAGS)) -shared -o $@ $^ $(LIBS_learner) -ldl
# Embeds CPython; the interpreter starts in an actor's sandbox.
PYTHON_PREFIX := $(shell $(PKG) --variable=prefix python3-embed 2>/dev/null)
CFLAGS_python := $(patsubst -I%,-isystem %,$(shell $(PKG) --cflags python3-embed 2>/dev/null)) \
        -DPYTHON_PREFIX='"$(PYTHON_PREFIX)"' -DPYTHON_LIBRARY='"$(PYTHON_PREFIX)/lib/python$(PYTHON_VERSION)"'
$(call objects,$(SRC_gym)): CFLAGS_room = $(CFLAGS_python)
$(patsubst %.c,$(B)/tidy/%.ok,$(SRC_gym)): CFLAGS_control += $(CFLAGS_python)
$(B)/env-gym.so: $(SRC_gym) $(wildcard actor/envs/gym/*) $(CONTRACTS)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(filter-out -fPIE -Wundef,$(ALL_CFLAGS)) -fPIC -shared $(CFLAGS_python) -o $@ $(SRC_gym) \
                $(LDFLAGS) $(shell $(PKG) --libs python3-embed) -lm
$(call objects,$(SRC_dataset)): CFLAGS_room = $(CFLAGS_hdf5)
$(patsubst %.c,$(B)/tidy/%.ok,$(SRC_dataset)): CFLAGS_control += $(CFLAGS_hdf5)
$(B)/dataset.so: $(SRC_dataset) $(wildcard lib/dataset/*.h lib/dataset/hdf5/*.h) lib/cleanup.h lib/slot.h $(CONTRACTS)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(filter-out -fPIE -Wundef,$(ALL_CFLAGS)) -fPIC -shared $(CFLAGS_hdf5) -o $@ $(SRC_dataset) \
                $(LDFLAGS) $(shell $(PKG) --libs $(HDF5)) -lm
# Box2D is written in C++. One C++ file, compiled without exceptions, connects it to the tasks in C.
CXX ?= g++
$(B)/o/actor/envs/box2d/world.o: actor/envs/box2d/world.cc
	@mkdir -p $(@D)
	$(call say,CXX)$(CXX) -std=c++17 $(filter-out -std=% -fPIE -Wundef -Wstrict-prototypes -Wmissing-prototypes -Wvla \
                -Werror=implicit -Wmissing-field-initializers,$(ALL_CFLAGS)) -fPIC -fno-exceptions -fno-rtti -MMD -MP -c -o $@ $<
$(B)/env-box2d.so: $(SRC_box2d) $(wildcard actor/envs/box2d/*.h) $(CONTRACTS) $(B)/o/actor/envs/box2d/world.o
	$(call say,LINK)$(CC) $(filter-out -fPIE -Wundef,$(ALL_CFLAGS)) -fPIC -shared -o $@ $(SRC_box2d) \
                $(B)/o/actor/envs/box2d/world.o $(LDFLAGS) -lbox2d -lstdc++ -lm

# Does not link EPA SWMM: the library comes with a Python package and is loaded in an actor's sandbox.
$(B)/o/actor/envs/swmm/theta.o: actor/envs/swmm/theta.inp
$(B)/o/actor/envs/swmm/tidal.o: actor/envs/swmm/tidal.inp
$(B)/env-swmm.so: $(SRC_swmm) $(wildcard actor/envs/swmm/*) $(CONTRACTS)
	@mkdir -p $(@D)
	$(call say,LINK)$(CC) $(filter-out -fPIE -Wundef,$(ALL_CFLAGS)) -fPIC -shared -o $@ $(SRC_swmm) $(LDFLAGS) -ldl -lm

$(B)/share: $(wildcard packaging/price/* packaging/schedulers/*)
	@mkdir -p $@
	@cp -r packaging/price packaging/schedulers $@/
	@touch $@

# One archive holds every object but the mains; a test links those that it needs.
$(B)/rooms.a: $(filter-out %/main.o,$(call objects,$(SRC_daemon) $(SRC_control) $(SRC_spawner) $(SRC_invoker) $(SRC_sandbox) $(SRC_actor) $(SRC_trial) $(SRC_learner) $(SRC_fused) $(SRC_job) $(SRC_actorctl) $(SRC_cluster_linked) $(SRC_tensors) $(SRC_lib)) \
                $(filter-out %/module.o,$(call objects,$(SRC_swmm))))
	@rm -f $@
	$(call say,AR)$(AR) rcsDP $@ $^
# Files that several tests share are compiled once.
$(B)/fixtures.a: $(patsubst tests/unit/%.c,$(B)/tests/%.o,$(wildcard tests/unit/*-fixture.c))
	@rm -f $@
	$(call say,AR)$(AR) rcsDP $@ $^
vpath test-%.c $(sort $(dir $(UNIT_SOURCES)))
vpath %-fixture.c tests/unit
$(B)/tests/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(ALL_CFLAGS) $(CFLAGS_room) -MMD -MP -c -o $@ $<
$(B)/tests/%: $(B)/tests/%.o $(B)/fixtures.a $(B)/rooms.a
	$(call say,LINK)$(CC) $(ALL_LDFLAGS) '-Wl,--export-dynamic-symbol=actord_random_*' -o $@ $^ $(LIBS_test)

.SECONDARY:
-include $(shell find $(B) \( -path $(B)/lane -o -path $(B)/roots \) -prune -o -name '*.d' -type f -print 2>/dev/null)
-include tests/tests.mk packaging/install.mk

# The client in Python. pip writes into the folder that it builds, so it gets a copy. It takes setuptools from the package index.
.PHONY: wheel
wheel:
	@rm -rf $(B)/wheel-source && mkdir -p $(B)/wheel && cp -r python $(B)/wheel-source
	@python3 -m pip wheel --quiet --no-deps --wheel-dir $(B)/wheel $(B)/wheel-source
	@ls $(B)/wheel/actord-$(VERSION)-py3-none-any.whl

# The Debian packages, in $(B)/deb.
.PHONY: deb
deb:
	@packaging/deb.sh $(B)/deb

# Their bill of materials, as SPDX: the libraries of this system that the programs load, with versions and licences.
.PHONY: sbom
sbom: all
	@packaging/sbom.py $(B) $(VERSION) >$(B)/actord.spdx.json.new && mv $(B)/actord.spdx.json.new $(B)/actord.spdx.json
	@echo $(B)/actord.spdx.json

.PHONY: clean
clean:
	rm -rf $(B)
