#include "lib/daemon/ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/daemon/ctl_words.h"
#include "lib/daemon/loop.h"

#define LISTENER UINT32_MAX

struct client {
	int fd; /* -1: free. */
	uid_t uid;
	int64_t until_ns; /* When it is let go, whatever it does. */
	struct strbuf in;
	struct strbuf out; /* Not empty once there is an answer. */
	size_t out_at;     /* Sent so far. */
};

struct ctl {
	struct loop *loop;            /* Borrowed. */
	const struct ctl_verb *verbs; /* Borrowed. */
	void *ctx;                    /* Borrowed. */
	char *path;                   /* Owned. */
	ino_t inode;                  /* Of the socket at 'path'. */
	int listener, epoll;          /* Owned. */
	bool is_deaf;                 /* No descriptors left: wait for the timer. */
	struct loop_item *ready, *tick;
	struct client clients[CTL_MAX_CONNECTIONS];
};

/* ---- One request ----------------------------------------------------------------- */

static size_t
words_in(const char *name)
{
	return strchr(name, ' ') ? 2 : 1;
}

static bool
is_verb(const struct ctl_verb *verb, size_t n, char *const *words)
{
	size_t length = strcspn(verb->name, " ");

	if (strlen(words[0]) != length || strncmp(words[0], verb->name, length) != 0)
		return false;
	if (!verb->name[length])
		return true;
	return n > 1 && strcmp(words[1], verb->name + length + 1) == 0;
}

static const struct ctl_verb *
find_verb(const struct ctl *ctl, size_t n, char *const *words, struct err *err)
{
	VEC(const char *) names = VEC_EMPTY;

	for (const struct ctl_verb *verb = ctl->verbs; verb->name; verb++) {
		if (is_verb(verb, n, words)) {
			vec_free(&names);
			return verb;
		}
		vec_push(&names, verb->name);
	}
	vec_push(&names, NULL);
	err_set(err, NULL, 0, 0, "this daemon does not know the request '%s%s%s'",
		words[0], n > 1 ? " " : "", n > 1 ? words[1] : "");
	if (err_did_you_mean(words[0], names.items)) {
		err_suggest(err, words[0], names.items);
	} else {
		for (size_t i = 0; names.items[i]; i++)
			err_append(err, "%s%s", i ? ", " : "; it knows ",
				   names.items[i]);
	}
	vec_free(&names);
	return NULL;
}

static int
run_words(const struct ctl *ctl, uid_t uid, size_t n, char **words,
	  struct strbuf *reply, struct err *err)
{
	const struct ctl_verb *verb = find_verb(ctl, n, words, err);
	size_t n_args;

	if (!verb)
		return -EINVAL;
	if (verb->is_change && uid != 0 && uid != geteuid()) {
		err_set(err, NULL, 0, 0,
			"'%s' is for root and the daemon's own user, not for user %u",
			verb->name, (unsigned)uid);
		return -EPERM;
	}
	n_args = n - words_in(verb->name);
	if ((n_args < verb->min_args || n_args > verb->max_args) &&
	    verb->min_args == verb->max_args)
		return err_set(err, NULL, 0, 0, "'%s' takes %u word%s, not %zu",
			       verb->name, verb->min_args,
			       verb->min_args == 1 ? "" : "s", n_args);
	if (n_args < verb->min_args || n_args > verb->max_args)
		return err_set(err, NULL, 0, 0, "'%s' takes %u to %u words, not %zu",
			       verb->name, verb->min_args, verb->max_args, n_args);
	return verb->run(ctl->ctx, n_args, words + words_in(verb->name), reply, err);
}

/* Fills the client's answer for the line in 'line', which is changed. */
static void
answer(const struct ctl *ctl, struct client *client, char *line)
{
	char *words[CTL_MAX_WORDS];
	struct err err = { 0 };
	struct strbuf reply = STRBUF_EMPTY;
	size_t n = 0;
	int rc = ctl_words_split(line, words, CTL_MAX_WORDS, &n, &err);

	if (rc == 0)
		rc = run_words(ctl, client->uid, n, words, &reply, &err);
	if (rc == 0 && reply.length > CTL_MAX_REPLY) {
		err_set(&err, NULL, 0, 0, "the answer is longer than %d bytes",
			CTL_MAX_REPLY);
		rc = -EFBIG;
	}
	if (rc < 0)
		strbuf_printf(&client->out, "error %d %s\n", -rc, err.text);
	else
		strbuf_puts(&client->out, "ok\n");
	if (rc == 0)
		strbuf_add(&client->out, reply.text, reply.length);
	strbuf_free(&reply);
}

/* ---- Those who ask ----------------------------------------------------------------- */

static void
let_go(struct client *client)
{
	close(client->fd); /* Which takes it out of the epoll set, too. */
	client->fd = -1;
	strbuf_free(&client->in);
	strbuf_free(&client->out);
}

static void
on_writable(struct ctl *ctl, struct client *client)
{
	struct epoll_event event = { .events = EPOLLOUT };

	while (client->out_at < client->out.length) {
		ssize_t n = send(client->fd, client->out.text + client->out_at,
				 client->out.length - client->out_at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			event.data.u32 = (uint32_t)(client - ctl->clients);
			epoll_ctl(ctl->epoll, EPOLL_CTL_MOD, client->fd, &event);
			return;
		}
		if (n <= 0)
			break;
		client->out_at += (size_t)n;
	}
	let_go(client);
}

static void
on_readable(struct ctl *ctl, struct client *client)
{
	char chunk[4096], *end;
	ssize_t n = recv(client->fd, chunk, sizeof chunk, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		let_go(client);
		return;
	}
	strbuf_add(&client->in, chunk, (size_t)n);
	end = memchr(client->in.text, '\n', client->in.length);
	if (end) {
		*end = '\0';
		answer(ctl, client, client->in.text);
	} else if (client->in.length > CTL_MAX_REQUEST) {
		strbuf_printf(&client->out, "error %d longer than %d bytes\n", EFBIG,
			      CTL_MAX_REQUEST);
	} else {
		return;
	}
	on_writable(ctl, client);
}

static void
listen_again(struct ctl *ctl)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u32 = LISTENER };

	epoll_ctl(ctl->epoll, EPOLL_CTL_ADD, ctl->listener, &event);
	ctl->is_deaf = false;
}

static void
on_connection(struct ctl *ctl)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t length = sizeof peer;
	uint32_t slot = 0;
	int fd = accept4(ctl->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
		/* It would stay readable, and the loop would spin. */
		epoll_ctl(ctl->epoll, EPOLL_CTL_DEL, ctl->listener, NULL);
		ctl->is_deaf = true;
		log_warn("ctl", "nobody can ask: %s", strerror(errno));
	}
	if (fd < 0)
		return;
	while (slot < CTL_MAX_CONNECTIONS && ctl->clients[slot].fd >= 0)
		slot++;
	if (slot == CTL_MAX_CONNECTIONS ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) {
		close(fd);
		return;
	}
	ctl->clients[slot] = (struct client){
		.fd = fd,
		.uid = peer.uid,
		.until_ns = clk_monotonic_ns() + CTL_IDLE_NS,
		.in = STRBUF_EMPTY,
		.out = STRBUF_EMPTY,
	};
	event.data.u32 = slot;
	epoll_ctl(ctl->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void
on_ready(void *ctx)
{
	struct ctl *ctl = ctx;
	struct epoll_event events[CTL_MAX_CONNECTIONS + 1];
	int n = epoll_wait(ctl->epoll, events, CTL_MAX_CONNECTIONS + 1, 0);

	for (int i = 0; i < n; i++) {
		struct client *client;

		if (events[i].data.u32 == LISTENER) {
			on_connection(ctl);
			continue;
		}
		client = &ctl->clients[events[i].data.u32];
		if (client->fd < 0)
			continue;
		if (client->out.length)
			on_writable(ctl, client);
		else
			on_readable(ctl, client);
	}
}

static void
on_tick(void *ctx, int64_t now_ns, int64_t missed)
{
	struct ctl *ctl = ctx;

	(void)missed;
	for (size_t i = 0; i < CTL_MAX_CONNECTIONS; i++) {
		if (ctl->clients[i].fd >= 0 && now_ns >= ctl->clients[i].until_ns)
			let_go(&ctl->clients[i]);
	}
	if (ctl->is_deaf)
		listen_again(ctl);
}

/* ---- The socket -------------------------------------------------------------------- */

/* Removes a socket that nobody listens at any more. */
static int
clear_path(const struct sockaddr_un *address, struct err *err)
{
	const char *path = address->sun_path;
	struct stat info;
	int fd, rc;

	if (lstat(path, &info) < 0)
		return 0; /* Not there, or bind() will say more. */
	if (!S_ISSOCK(info.st_mode)) {
		err_set(err, path, 0, 0, "something that is no socket is in the way");
		return -EEXIST;
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set_errno(err, path, errno, "cannot make a socket");
	rc = connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 ? -errno
										: 0;
	close(fd);
	if (rc == 0 || rc == -EAGAIN) {
		err_set(err, path, 0, 0, "another daemon answers there already");
		return -EADDRINUSE;
	}
	unlink(path);
	return 0;
}

static int
listen_at(struct ctl *ctl, unsigned mode, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat info;
	mode_t old;
	int rc;

	if (strlen(ctl->path) >= sizeof address.sun_path)
		return err_set(err, ctl->path, 0, 0,
			       "the path of a socket is at most %zu bytes long",
			       sizeof address.sun_path - 1);
	strcpy(address.sun_path, ctl->path);
	rc = clear_path(&address, err);
	if (rc < 0)
		return rc;
	ctl->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (ctl->listener < 0)
		return err_set_errno(err, ctl->path, errno, "cannot make a socket");
	old = umask((mode_t)(~mode & 0777));
	rc = bind(ctl->listener, (const struct sockaddr *)&address, sizeof address);
	umask(old);
	if (rc < 0 || listen(ctl->listener, CTL_MAX_CONNECTIONS) < 0 ||
	    lstat(ctl->path, &info) < 0)
		return err_set_errno(err, ctl->path, errno, "cannot listen");
	ctl->inode = info.st_ino;
	return 0;
}

int
ctl_open(struct loop *loop, const char *path, unsigned mode,
	 const struct ctl_verb *verbs, void *ctx, struct ctl **ret_ctl, struct err *err)
{
	struct ctl *ctl = xcalloc(1, sizeof *ctl);
	int rc;

	ctl->loop = loop;
	ctl->verbs = verbs;
	ctl->ctx = ctx;
	ctl->path = xstrdup(path);
	ctl->listener = -1;
	for (size_t i = 0; i < CTL_MAX_CONNECTIONS; i++)
		ctl->clients[i].fd = -1;
	ctl->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (ctl->epoll < 0)
		rc = err_set_errno(err, path, errno, "cannot make an epoll set");
	else
		rc = listen_at(ctl, mode, err);
	if (rc < 0) {
		ctl_close(ctl);
		return rc;
	}
	listen_again(ctl);
	ctl->ready = loop_fd(loop, ctl->epoll, on_ready, ctl);
	ctl->tick = loop_every(loop, INT64_C(1000000000), on_tick, ctl);
	*ret_ctl = ctl;
	return 0;
}

void
ctl_close(struct ctl *ctl)
{
	struct stat info;

	if (!ctl)
		return;
	if (ctl->ready)
		loop_remove(ctl->loop, ctl->ready);
	if (ctl->tick)
		loop_remove(ctl->loop, ctl->tick);
	for (size_t i = 0; i < CTL_MAX_CONNECTIONS; i++) {
		if (ctl->clients[i].fd >= 0)
			let_go(&ctl->clients[i]);
	}
	if (ctl->inode && lstat(ctl->path, &info) == 0 && info.st_ino == ctl->inode)
		unlink(ctl->path);
	if (ctl->listener >= 0)
		close(ctl->listener);
	if (ctl->epoll >= 0)
		close(ctl->epoll);
	free(ctl->path);
	free(ctl);
}

int
ctl_run_log(void *ctx, size_t n_args, char **args, struct strbuf *reply,
	    struct err *err)
{
	(void)ctx;
	(void)n_args;
	if (!log_set_level_word(args[0]))
		return err_set(err, NULL, 0, 0,
			       "the level is err, warn, info or dbg, not '%s'",
			       args[0]);
	strbuf_printf(reply, "log level: %s\n", args[0]);
	return 0;
}
