/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caps.h - dropping of privileges.
 *
 * A daemon starts as root, or from systemd with ambient capabilities, opens what needs
 * privileges, and then continues as another user with few capabilities.  It uses the
 * system calls directly, so it needs only the kernel's headers.
 */
#ifndef LIB_DAEMON_CAPS_H
#define LIB_DAEMON_CAPS_H

#include <linux/capability.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Sets of capabilities. */
#define CAPS(name)     (UINT64_C(1) << CAP_##name)
#define CAPS_TELEMETRY (CAPS(BPF) | CAPS(NET_ADMIN) | CAPS(PERFMON))

/* The effective capabilities. */
uint64_t caps_effective(void);

/* Writes a set as "CAP_NET_ADMIN, CAP_BPF", or "none", to 'text' and returns it. */
const char *caps_text(uint64_t set, char *text, size_t size);

/*
 * Changes to 'user' (a name or number) and its group; NULL: no change.  Drops all
 * permitted and effective capabilities except those in 'keep', and all inheritable
 * ones, and sets no-new-privileges, so that execve() gains nothing.  Verifies the
 * result.  Returns 0, or -errno with 'err' filled; the process may then have changed in
 * part and should end.
 */
int caps_drop(const char *user, uint64_t keep, struct err *err);

/* The user and group of a name or number.  0, or -EINVAL with 'err' filled. */
int caps_find_user(const char *user, unsigned *ret_uid, unsigned *ret_gid,
		   struct err *err);

#endif
