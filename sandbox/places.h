/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of the host that a sandbox with `libraries` may see: the shared parts of programs, and the
 * linker's tables. Mounts and Landlock rules use the same list. */
#pragma once

/* Some libraries of Debian are links through /etc/alternatives. A symbolic link in this list (/lib on a
 * merged system) becomes a link in the sandbox, too. */
#define SANDBOX_LIBRARIES \
        "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives"
#define SANDBOX_DEVICES "/dev/null", "/dev/zero", "/dev/urandom"
