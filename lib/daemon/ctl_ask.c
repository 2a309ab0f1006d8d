/*
 * ctl_ask.c - the asking end of ctl.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cli.h"
#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/daemon/ctl.h"
#include "lib/daemon/ctl_words.h"

#define PATIENCE_NS INT64_C(5000000000)

static int
call(const char *path, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, rc;

	if (strlen(path) >= sizeof address.sun_path)
		return err_set(err, path, 0, 0,
			       "the path of a socket is at most %zu bytes long",
			       sizeof address.sun_path - 1);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set_errno(err, path, errno, "cannot make a socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	rc = -errno;
	close(fd);
	if (rc == -ENOENT || rc == -ECONNREFUSED) {
		const char *slash = strrchr(path, '/');
		const char *name = slash ? slash + 1 : path;

		/* A socket is called as its daemon: "collector.sock". */
		err_set(err, path, 0, 0,
			"no daemon answers there; is it running "
			"(systemctl status antiphase-%.*s), and with this "
			"runtime directory?",
			(int)strcspn(name, "."), name);
		return -ECONNREFUSED;
	}
	if (rc == -EAGAIN) {
		err_set(err, path, 0, 0, "the daemon does not get round to answering");
		return -ETIMEDOUT;
	}
	err_set_errno(err, path, rc, "cannot ask the daemon");
	if (rc == -EACCES)
		err_append(err, "; ask as root, or as the daemon's user or group");
	return rc;
}

/* Waits for 'events' until 'until_ns'. */
static int
wait_for(int fd, short events, int64_t until_ns, const char *path, struct err *err)
{
	struct pollfd one = { .fd = fd, .events = events };

	for (;;) {
		int64_t left_ns = until_ns - clk_monotonic_ns();
		int n = left_ns > 0 ? poll(&one, 1, (int)(left_ns / 1000000 + 1)) : 0;

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_set_errno(err, path, errno, "cannot wait");
		if (n == 0) {
			err_set(err, path, 0, 0, "the daemon did not answer in time");
			return -ETIMEDOUT;
		}
	}
}

static int
send_all(int fd, const struct strbuf *out, int64_t until_ns, const char *path,
	 struct err *err)
{
	for (size_t at = 0; at < out->length;) {
		ssize_t n = send(fd, out->text + at, out->length - at, MSG_NOSIGNAL);
		int rc;

		if (n > 0) {
			at += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EPIPE)
			return 0; /* It hung up; there may be a reason to read. */
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return err_set_errno(err, path, errno, "cannot ask the daemon");
		rc = wait_for(fd, POLLOUT, until_ns, path, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
receive_all(int fd, struct strbuf *in, int64_t until_ns, const char *path,
	    struct err *err)
{
	char chunk[16384];

	while (in->length < CTL_MAX_REPLY + sizeof chunk) {
		ssize_t n = recv(fd, chunk, sizeof chunk, 0);
		int rc;

		if (n == 0 || (n < 0 && errno == ECONNRESET && !in->length))
			return 0;
		if (n > 0) {
			strbuf_add(in, chunk, (size_t)n);
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return err_set_errno(err, path, errno, "the answer broke off");
		rc = wait_for(fd, POLLIN, until_ns, path, err);
		if (rc < 0)
			return rc;
	}
	err_set(err, path, 0, 0, "the answer is longer than %d bytes", CTL_MAX_REPLY);
	return -EFBIG;
}

/* "ok\n" and the document, or "error ERRNO TEXT\n". */
static int
understand(const struct strbuf *in, const char *path, struct strbuf *reply,
	   struct err *err)
{
	long number;
	char *end;

	if (in->length >= 3 && memcmp(in->text, "ok\n", 3) == 0) {
		strbuf_add(reply, in->text + 3, in->length - 3);
		return 0;
	}
	if (strncmp(in->text, "error ", 6) == 0) {
		number = strtol(in->text + 6, &end, 10);
		if (number > 0 && number < 4096 && *end == ' ') {
			err_set(err, NULL, 0, 0, "%.*s", (int)strcspn(end + 1, "\n"),
				end + 1);
			return (int)-number;
		}
	}
	if (in->length)
		err_set(err, path, 0, 0, "what answers there is no daemon of ours");
	else
		err_set(err, path, 0, 0,
			"the daemon hung up: too many ask at once, or it is ending");
	return -EBUSY;
}

int
ctl_ask(const char *path, const char *const *words, int64_t timeout_ns,
	struct strbuf *reply, struct err *err)
{
	int64_t until_ns = clk_monotonic_ns() + timeout_ns;
	struct strbuf out = STRBUF_EMPTY, in = STRBUF_EMPTY;
	int fd = call(path, err), rc;

	if (fd < 0)
		return fd;
	ctl_words_join(&out, words);
	rc = send_all(fd, &out, until_ns, path, err);
	if (rc == 0)
		rc = receive_all(fd, &in, until_ns, path, err);
	if (rc == 0)
		rc = understand(&in, path, reply, err);
	close(fd);
	strbuf_free(&out);
	strbuf_free(&in);
	return rc;
}

bool
ctl_is_answered(const char *path)
{
	struct err err;
	int fd = call(path, &err);

	if (fd >= 0)
		close(fd);
	return fd != -ECONNREFUSED;
}

int
ctl_exit_status(int error)
{
	switch (error) {
	case 0:
		return CLI_OK;
	case -EINVAL:
	case -EFBIG:
		return CLI_USAGE;
	case -ECONNREFUSED:
	case -ETIMEDOUT:
	case -EBUSY:
		return CLI_UNREACHABLE;
	case -ENODATA:
		return CLI_THIN;
	case -EPERM:
	case -EACCES:
	case -EOPNOTSUPP:
		return CLI_DENIED;
	default:
		return CLI_NO;
	}
}

int
ctl_ask_print(const char *runtime_dir, const char *daemon, const char *const *words)
{
	char *path = xasprintf("%s/%s.sock", runtime_dir, daemon);
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	int rc = ctl_ask(path, words, PATIENCE_NS, &reply, &err);

	if (rc < 0)
		err_print(&err, stderr);
	else
		fputs(reply.text, stdout);
	strbuf_free(&reply);
	free(path);
	return ctl_exit_status(rc);
}
