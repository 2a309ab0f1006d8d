/* SPDX-License-Identifier: Apache-2.0 */
/*
 * caps.h - giving up what a daemon does not need any more.
 *
 * A daemon is started as root, or by systemd with ambient capabilities, opens what
 * only root may, and then keeps a few capabilities under another user.  By the
 * system calls themselves, as the headers of the kernel are enough for that.
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

/* Those in effect. */
uint64_t caps_effective(void);

/* "CAP_NET_ADMIN, CAP_BPF" of a set, or "none"; in 'text', which is returned. */
const char *caps_text(uint64_t set, char *text, size_t size);

/*
 * From here on: user 'user' (a name or number, and its group; NULL: as it is), of
 * the capabilities in 'keep' those that are there, in effect and permitted and no
 * others, none to be inherited, and nothing gained by execve() (no-new-privileges).
 * It is checked that all this is so.  Returns 0, or -errno with 'err' filled; the
 * process is then in between and should end.
 */
int caps_drop(const char *user, uint64_t keep, struct err *err);

/* The user and group that a name or number means. 0, or -EINVAL with 'err' filled. */
int caps_find_user(const char *user, unsigned *ret_uid, unsigned *ret_gid,
		   struct err *err);

#endif
