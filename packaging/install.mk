# SPDX-License-Identifier: LGPL-2.1-or-later
#
# install, uninstall: each file has one line in INSTALLED, "mode source destination". Files named X.in are templates. The directories
# of systemd, D-Bus and polkit are below PREFIX. If PREFIX is not /usr, the bus policy and the polkit actions must be linked to where
# their daemons look for them.

DESTDIR ?=
BINDIR      ?= $(PREFIX)/bin
UNITDIR     ?= $(PREFIX)/lib/systemd/system
USERUNITDIR ?= $(PREFIX)/lib/systemd/user
SHARE        = $(PREFIX)/share
DOCDIR      ?= $(SHARE)/doc/actord
EXAMPLESDIR ?= $(DOCDIR)/examples
COCKPITDIR  ?= $(SHARE)/cockpit/actord

MANPAGES    := $(wildcard docs/*.1 docs/*.5 docs/*.7 docs/*.8)
# The pages keep their places to each other, so that README's links and names of pages are right in the installed copy.
PAGES       := $(wildcard README.md NEWS.md docs/*.md docs/experiments/*.md docs/pictures/* python/README.md)
man_section  = $(subst .,,$(suffix $(1)))
examples     = $(foreach f,$(wildcard examples/*.conf examples/*.xml),0644:$(f):$(EXAMPLESDIR)/$(notdir $(f))) \
        $(foreach f,$(wildcard examples/corridor/*.py),0644:$(f):$(EXAMPLESDIR)/corridor/$(notdir $(f))) \
        $(foreach f,$(wildcard examples/experiments/*),0644:$(f):$(EXAMPLESDIR)/experiments/$(notdir $(f))) \
        $(foreach f,$(wildcard examples/env-template/*.c examples/env-template/Makefile examples/env-template/*.conf examples/env-template/*.md),0644:$(f):$(EXAMPLESDIR)/env-template/$(notdir $(f)))

# The modules for other engines, if they were built, with their libraries.
ENGINES      = $(filter-out $(MODULES),$(shell find $(B) -maxdepth 1 -name 'env-mujoco-*.so' -o -maxdepth 1 -name 'libmujoco.so.*'))

INSTALLED = \
        0755:$(B)/actorctl:$(BINDIR)/actorctl \
        $(foreach p,actord actord-spawn actord-invoker actord-learner,0755:$(B)/$(p):$(LIBEXECDIR)/$(p)) \
        $(foreach p,$(CLUSTER_PROGRAM),0755:$(p):$(LIBEXECDIR)/$(notdir $(p))) \
        $(foreach m,$(MODULES),0644:$(m):$(LIBEXECDIR)/$(notdir $(m))) \
        $(foreach m,$(ENGINES),0644:$(m):$(LIBEXECDIR)/$(notdir $(m))) \
        $(foreach f,$(wildcard packaging/price/*.sheet),0644:$(f):$(DATADIR)/price/$(notdir $(f))) \
        0644:packaging/schemas/actorctl.json:$(DATADIR)/schemas/actorctl.json \
        0644:packaging/grafana/actord.json:$(DATADIR)/grafana/actord.json \
        $(foreach f,$(filter-out %.md,$(wildcard packaging/cockpit/*)),0644:$(f):$(COCKPITDIR)/$(notdir $(f))) \
        $(foreach f,$(wildcard packaging/schedulers/*.minions),0644:$(f):$(DATADIR)/schedulers/$(notdir $(f))) \
        0644:units/actord.service.in:$(UNITDIR)/actord.service \
        0644:units/actord-spawn.socket.in:$(UNITDIR)/actord-spawn.socket \
        0644:units/actord-spawn.service.in:$(UNITDIR)/actord-spawn.service \
        0644:units/actord-metrics.socket:$(UNITDIR)/actord-metrics.socket \
        0644:units/actord-metrics@.service.in:$(UNITDIR)/actord-metrics@.service \
        0644:units/actord.slice:$(UNITDIR)/actord.slice \
        0644:units/actord-user.service.in:$(USERUNITDIR)/actord.service \
        0644:units/org.actord1.conf:$(SHARE)/dbus-1/system.d/org.actord1.conf \
        0644:units/org.actord1.service:$(SHARE)/dbus-1/system-services/org.actord1.service \
        0644:units/org.actord1-session.service.in:$(SHARE)/dbus-1/services/org.actord1.service \
        0644:units/org.actord1.xml:$(SHARE)/dbus-1/interfaces/org.actord1.xml \
        0644:units/org.actord1.policy:$(SHARE)/polkit-1/actions/org.actord1.policy \
        0644:units/actord.sysusers:$(PREFIX)/lib/sysusers.d/actord.conf \
        0644:units/actord.catalog:$(PREFIX)/lib/systemd/catalog/actord.catalog \
        0644:include/actord/env.h:$(PREFIX)/include/actord/env.h \
        0644:include/actord/mujoco.h:$(PREFIX)/include/actord/mujoco.h \
        0644:packaging/actord.pc.in:$(SHARE)/pkgconfig/actord.pc \
        $(foreach f,$(wildcard packaging/completions/actorctl.bash),0644:$(f):$(SHARE)/bash-completion/completions/actorctl) \
        $(foreach f,$(wildcard packaging/completions/_actorctl),0644:$(f):$(SHARE)/zsh/vendor-completions/_actorctl) \
        $(foreach f,$(MANPAGES),0644:$(f):$(SHARE)/man/man$(call man_section,$(f))/$(notdir $(f))) \
        $(foreach f,$(PAGES),0644:$(f):$(DOCDIR)/$(f)) \
        $(examples)

# With a DESTDIR the running system is not touched: the scripts of a package then do what settle.sh does.
.PHONY: install uninstall list-installed
install: all
	@printf '%s\n' $(INSTALLED) | packaging/install.sh "$(DESTDIR)" PREFIX=$(PREFIX) BINDIR=$(BINDIR) LIBEXECDIR=$(LIBEXECDIR) \
                EXAMPLESDIR=$(EXAMPLESDIR) VERSION=$(VERSION)
	@$(if $(DESTDIR),,packaging/settle.sh installed $(PREFIX))

# The daemon's files (/var/lib/actord), the administrator's (/etc/actord) and the daemon's user stay.
uninstall:
	@$(if $(DESTDIR),,packaging/settle.sh leaving $(PREFIX))
	@printf '%s\n' $(INSTALLED) | while IFS=: read -r mode source to; do rm -f "$(DESTDIR)$$to"; done
	@printf '%s\n' $(sort $(foreach f,$(INSTALLED),$(dir $(lastword $(subst :, ,$(f))))) $(DATADIR)/) | grep actord | sort -r | while read -r d; do rmdir "$(DESTDIR)$$d" 2>/dev/null || true; done
	@$(if $(DESTDIR),,packaging/settle.sh gone $(PREFIX))

list-installed:
	@printf '%s\n' $(INSTALLED) | cut -d: -f3 | sort
