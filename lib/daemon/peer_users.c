/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/peer_users.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/words.h"
#include "lib/daemon/caps.h"
#include "lib/daemon/tcp_diag.h"

/* The same address in 16 bytes; false if it is not on loopback. */
static bool
take_end(const struct sockaddr_storage *end, uint8_t ret_address[16],
	 uint16_t *ret_port)
{
	if (end->ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)end;

		memset(ret_address, 0, 10);
		memset(ret_address + 10, 0xff, 2);
		memcpy(ret_address + 12, &v4->sin_addr, 4);
		*ret_port = v4->sin_port;
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	}
	if (end->ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)end;

		memcpy(ret_address, &v6->sin6_addr, 16);
		*ret_port = v6->sin6_port;
		return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
	}
	return false;
}

/* The owner of the socket whose local end is 'remote', and whose other end is 'local'. */
static uid_t
owner_of(const struct sockaddr_storage *local, const struct sockaddr_storage *remote)
{
	struct tcp_diag_socket found = { .user = PEER_USER_UNKNOWN };
	struct tcp_diag_ends ends;
	int fd, r = 0;

	if (!take_end(remote, ends.local, &ends.local_port) ||
	    !take_end(local, ends.remote, &ends.remote_port))
		return PEER_USER_UNKNOWN;
	fd = tcp_diag_open();
	if (fd < 0)
		return PEER_USER_UNKNOWN;
	r = tcp_diag_find(fd, 1, &ends, &found);
	close(fd);
	return r > 0 && found.inode ? found.user : PEER_USER_UNKNOWN;
}

uid_t
peer_user_of(int fd)
{
	struct ucred peer = { .uid = PEER_USER_UNKNOWN };
	struct sockaddr_storage local = { 0 }, remote = { 0 };
	socklen_t n_local = sizeof local, n_remote = sizeof remote, n = sizeof peer;

	if (getsockname(fd, (void *)&local, &n_local) < 0)
		return PEER_USER_UNKNOWN;
	if (local.ss_family == AF_UNIX)
		return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0
			       ? peer.uid
			       : PEER_USER_UNKNOWN;
	if (getpeername(fd, (void *)&remote, &n_remote) < 0)
		return PEER_USER_UNKNOWN;
	return owner_of(&local, &remote);
}

/* ---- Lists ----------------------------------------------------------------------- */

int
peer_users_read(const char *list, struct peer_users *ret_users, struct err *err)
{
	struct peer_users users = { .allowed = VEC_EMPTY };
	struct words words;
	int r = 0;

	words_split(&words, list, ", ");
	for (size_t i = 0; i < words.items.n && r == 0; i++) {
		unsigned user = 0, group;

		r = caps_find_user(words.items.items[i], &user, &group, err);
		if (r == 0)
			vec_push(&users.allowed, user);
	}
	words_fini(&words);
	if (r < 0)
		peer_users_fini(&users);
	else
		*ret_users = users;
	return r;
}

void
peer_users_fini(struct peer_users *users)
{
	vec_free(&users->allowed);
}

bool
peer_users_has(const struct peer_users *users, uid_t user)
{
	if (user == PEER_USER_UNKNOWN)
		return false;
	for (size_t i = 0; i < users->allowed.n; i++)
		if (users->allowed.items[i] == user)
			return true;
	return user == geteuid();
}
