/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What of the host a sandbox with `libraries` may see: programs' shared parts and the linker's tables.
 * One list for the mounts and for the Landlock rules. */
#pragma once

/* Some libraries of Debian are links through /etc/alternatives. A symbolic link among these (/lib on a
 * merged system) becomes a link in the sandbox, too. */
#define SANDBOX_LIBRARIES \
        "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives"
#define SANDBOX_DEVICES "/dev/null", "/dev/zero", "/dev/urandom"
