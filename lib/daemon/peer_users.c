/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/peer_users.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/words.h"
#include "lib/daemon/caps.h"

#define REPLY_BYTES 8192

/* A state of the kernel; its headers with names exclude each other. */
#define LISTEN 10

/* ---- Loopback -------------------------------------------------------------------- */

struct question {
	struct nlmsghdr header;
	struct inet_diag_req_v2 body;
};

/* Asks for the socket whose local end is 'remote', and whose other end is 'local'. */
static int
fill_question(const struct sockaddr_storage *local,
	      const struct sockaddr_storage *remote, struct question *ret_question)
{
	struct inet_diag_sockid *id = &ret_question->body.id;

	*ret_question = (struct question){
		.header = { .nlmsg_len = sizeof *ret_question,
			    .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = (uint8_t)local->ss_family,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = UINT32_MAX },
	};
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	if (local->ss_family == AF_INET) {
		const struct sockaddr_in *l = (const void *)local;
		const struct sockaddr_in *r = (const void *)remote;

		id->idiag_src[0] = r->sin_addr.s_addr;
		id->idiag_dst[0] = l->sin_addr.s_addr;
		id->idiag_sport = r->sin_port;
		id->idiag_dport = l->sin_port;
		return ntohl(r->sin_addr.s_addr) >> 24 == 127 ? 0 : -EXDEV;
	}
	if (local->ss_family == AF_INET6) {
		const struct sockaddr_in6 *l = (const void *)local;
		const struct sockaddr_in6 *r = (const void *)remote;

		memcpy(id->idiag_src, &r->sin6_addr, sizeof id->idiag_src);
		memcpy(id->idiag_dst, &l->sin6_addr, sizeof id->idiag_dst);
		id->idiag_sport = r->sin6_port;
		id->idiag_dport = l->sin6_port;
		return IN6_IS_ADDR_LOOPBACK(&r->sin6_addr) ? 0 : -EXDEV;
	}
	return -EAFNOSUPPORT;
}

/* Without a connection the kernel answers with the socket that listens on the port. */
static uid_t
owner_in(const struct nlmsghdr *header, size_t n, const struct inet_diag_sockid *asked)
{
	const struct inet_diag_msg *found = NLMSG_DATA(header);

	if (!NLMSG_OK(header, n) || header->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    header->nlmsg_len < NLMSG_LENGTH(sizeof *found) ||
	    found->idiag_state == LISTEN ||
	    found->id.idiag_sport != asked->idiag_sport ||
	    found->id.idiag_dport != asked->idiag_dport || found->idiag_inode == 0)
		return PEER_USER_UNKNOWN;
	return found->idiag_uid;
}

static uid_t
owner_of(const struct question *question)
{
	char reply[REPLY_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	uid_t user = PEER_USER_UNKNOWN;
	ssize_t n;

	if (fd < 0)
		return user;
	/* The kernel answers while it takes the question. */
	if (send(fd, question, sizeof *question, 0) == sizeof *question) {
		n = recv(fd, reply, sizeof reply, MSG_DONTWAIT);
		if (n > 0)
			user = owner_in((const void *)reply, (size_t)n,
					&question->body.id);
	}
	close(fd);
	return user;
}

uid_t
peer_user_of(int fd)
{
	struct ucred peer = { .uid = PEER_USER_UNKNOWN };
	struct sockaddr_storage local = { 0 }, remote = { 0 };
	socklen_t n_local = sizeof local, n_remote = sizeof remote, n = sizeof peer;
	struct question question;

	if (getsockname(fd, (void *)&local, &n_local) < 0)
		return PEER_USER_UNKNOWN;
	if (local.ss_family == AF_UNIX)
		return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0
			       ? peer.uid
			       : PEER_USER_UNKNOWN;
	if (getpeername(fd, (void *)&remote, &n_remote) < 0 ||
	    fill_question(&local, &remote, &question) < 0)
		return PEER_USER_UNKNOWN;
	return owner_of(&question);
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
