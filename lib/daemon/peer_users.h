/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_users.h - the user at the other end of a connection, and lists of permitted users
 */
#ifndef LIB_DAEMON_PEER_USERS_H
#define LIB_DAEMON_PEER_USERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/vec.h"

struct err;

#define PEER_USER_UNKNOWN ((uid_t)-1)

/*
 * The user at the other end of a connected socket.  Over a Unix socket the kernel knows who
 * connected (SO_PEERCRED).  Over loopback it is the owner of the socket at the other end,
 * as sock_diag(7) reports it for the network namespace of this process.
 * PEER_USER_UNKNOWN: the peer is not on this host or has closed its socket.
 */
uid_t peer_user_of(int fd);

/* Users who may do something. */
struct peer_users {
	VEC(uid_t) allowed;
};

/*
 * Reads a list of names and numbers of users, separated by commas.  Returns 0, or -EINVAL
 * with 'err' filled for a name that no user has.
 */
int peer_users_read(const char *list, struct peer_users *ret_users, struct err *err);
void peer_users_fini(struct peer_users *users);

/* True if 'user' is in the list, or is the user of this process. */
bool peer_users_has(const struct peer_users *users, uid_t user);

#endif
