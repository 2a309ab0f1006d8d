/* SPDX-License-Identifier: Apache-2.0 */
/* bus_keys_write.c - makes pairs of keys, and files with the keys of others. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zmq.h>

#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/strbuf.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_keys.h"

/* ---- Files ----------------------------------------------------------------------- */

static int
write_key(const char *path, const char *z85, mode_t mode, struct err *err)
{
	char line[BUS_Z85_CHARS + 2];
	int fd, error = 0;

	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0) {
		error = -errno;
		if (error == -EEXIST)
			err_set(err, path, 0, 0,
				"is there already; a key is never replaced, remove it "
				"yourself");
		else
			err_set_errno(err, path, error, "cannot create");
		return error;
	}
	snprintf(line, sizeof line, "%s\n", z85);
	if (write(fd, line, strlen(line)) != (ssize_t)strlen(line) || fsync(fd) < 0)
		error = errno ? -errno : -EIO;
	explicit_bzero(line, sizeof line);
	if (close(fd) < 0 && !error)
		error = -errno;
	return error ? err_set_errno(err, path, error, "cannot write") : 0;
}

static int
make_directory(const char *path, struct err *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return err_set_errno(err, path, errno, "cannot make the directory");
	return 0;
}

/* ---- Our own pair ---------------------------------------------------------------- */

/* Makes NAME.key and NAME.pub. */
static int
make_pair(const char *directory, const char *name, char ret_public[BUS_Z85_CHARS + 1],
	  struct err *err)
{
	char secret[BUS_Z85_CHARS + 1];
	char *secret_path = xasprintf("%s/%s.key", directory, name);
	char *public_path = xasprintf("%s/%s.pub", directory, name);
	int error = make_directory(directory, err);

	if (error < 0)
		goto out;
	if (zmq_curve_keypair(ret_public, secret) < 0) {
		err_set(err, NULL, 0, 0, "this libzmq was built without CURVE");
		error = -ENOTSUP;
		goto out;
	}
	error = write_key(secret_path, secret, 0600, err);
	if (!error)
		error = write_key(public_path, ret_public, 0644, err);
out:
	explicit_bzero(secret, sizeof secret);
	free(secret_path);
	free(public_path);
	return error;
}

int
bus_keys_new(const char *directory, struct err *err)
{
	char public[BUS_Z85_CHARS + 1];

	return make_pair(directory, "self", public, err);
}

int
bus_keys_rotate(const char *directory, char ret_z85[BUS_Z85_CHARS + 1], struct err *err)
{
	char *own = xasprintf("%s/self.key", directory);
	char *next = xasprintf("%s/next.pub", directory);
	char z85[BUS_KEYS_EACH][BUS_Z85_CHARS + 1];
	int error = 0;

	if (access(own, F_OK) < 0) {
		error = err_set_errno(err, own, errno, "cannot rotate");
		err_append(err, "; 'antiphase keys new' makes a pair of keys");
	} else if (access(next, F_OK) == 0) {
		error = bus_keys_read(next, false, z85, err);
		if (error > 0)
			memcpy(ret_z85, z85[0], BUS_Z85_CHARS + 1);
		error = error < 0 ? error : 0;
	} else {
		error = make_pair(directory, "next", ret_z85, err);
	}
	free(own);
	free(next);
	return error;
}

int
bus_keys_rotated(const char *directory, struct err *err)
{
	/* The secret first: 'self.pub' is for people, and the next call repairs it. */
	static const char *const suffixes[] = { "key", "pub" };
	unsigned n_moved = 0;
	int error = 0;

	for (int i = 0; i < 2 && !error; i++) {
		char *from = xasprintf("%s/next.%s", directory, suffixes[i]);
		char *to = xasprintf("%s/self.%s", directory, suffixes[i]);

		if (rename(from, to) == 0)
			n_moved++;
		else if (errno != ENOENT)
			error = err_set_errno(err, from, errno, "cannot rename");
		free(from);
		free(to);
	}
	if (!error && !n_moved) {
		err_set(err, directory, 0, 0,
			"there is no next pair; 'antiphase keys rotate' makes one");
		error = -ENOENT;
	}
	return error;
}

/* ---- Keys of others -------------------------------------------------------------- */

/* A list of hosts as lines. */
static int
check_hosts(const char *hosts, struct strbuf *lines, struct err *err)
{
	while (*(hosts += strspn(hosts, ", \t\n"))) {
		size_t n = strcspn(hosts, ", \t\n");

		if (n > BUS_KEY_NAME || *hosts == '#')
			return err_set(err, NULL, 0, 0,
				       "'%.*s' is no name of a host and no pattern: "
				       "expected up to %d characters, as in 'rack1-*'",
				       (int)n, hosts, BUS_KEY_NAME);
		strbuf_add(lines, hosts, n);
		strbuf_add(lines, "\n", 1);
		hosts += n;
	}
	return 0;
}

/* Writes the list of hosts; a list that an earlier key has left is not taken over. */
static int
put_hosts(const char *path, const char *hosts, enum bus_keys_how how, struct err *err)
{
	struct strbuf lines = STRBUF_EMPTY;
	int error = 0;

	if (hosts) {
		error = check_hosts(hosts, &lines, err);
		if (!error)
			error = file_write(path, lines.text ? lines.text : "",
					   lines.length, err);
	} else if (how == BUS_KEYS_FIRST && access(path, F_OK) == 0) {
		error = -EEXIST;
		err_set(err, path, 0, 0,
			"is there already, from an earlier key; remove it, or say "
			"--hosts");
	}
	strbuf_free(&lines);
	return error;
}

/* Writes a file that has a key already, with one key or two. */
static int
change_key(const char *path, const char *z85, enum bus_keys_how how, struct err *err)
{
	char old[BUS_KEYS_EACH][BUS_Z85_CHARS + 1], text[2 * BUS_Z85_CHARS + 3];
	int n = bus_keys_read(path, false, old, err);

	if (n < 0)
		return n;
	for (int i = 0; i < n && how == BUS_KEYS_ALSO; i++)
		if (strcmp(old[i], z85) == 0)
			return 0;
	if (how == BUS_KEYS_ALSO && n == BUS_KEYS_EACH) {
		err_set(err, path, 0, 0,
			"has two keys already; --replace leaves only the new one");
		return -EEXIST;
	}
	if (how == BUS_KEYS_ALSO)
		snprintf(text, sizeof text, "%s\n%s\n", old[0], z85);
	else
		snprintf(text, sizeof text, "%s\n", z85);
	return file_write(path, text, strlen(text), err);
}

/* Writes IN/NAME.pub and IN/NAME.hosts. */
static int
put_public(const char *in, const char *name, const char *z85, const char *hosts,
	   enum bus_keys_how how, struct err *err)
{
	char *path = xasprintf("%s/%s.pub", in, name);
	char *hosts_path = xasprintf("%s/%s.hosts", in, name);
	int error = 0;

	if (bus_key_check(z85) < 0)
		error = err_set(
			err, NULL, 0, 0,
			"'%s' is not a public key: expected the %d characters that "
			"'antiphase keys new' prints",
			z85, BUS_Z85_CHARS);
	if (!error)
		error = make_directory(in, err);
	if (!error && how == BUS_KEYS_FIRST && access(path, F_OK) == 0)
		error = write_key(path, z85, 0644, err); /* Says why not. */
	if (!error && how != BUS_KEYS_FIRST && access(path, F_OK) < 0) {
		err_set(err, path, 0, 0,
			"is not there; leave out --also and --replace");
		error = -ENOENT;
	}
	if (!error)
		error = put_hosts(hosts_path, hosts, how, err);
	if (!error)
		error = how == BUS_KEYS_FIRST ? write_key(path, z85, 0644, err)
					      : change_key(path, z85, how, err);
	free(path);
	free(hosts_path);
	return error;
}

static int
check_name(const char *name, struct err *err)
{
	if (bus_key_is_name(name))
		return 0;
	return err_set(err, NULL, 0, 0,
		       "'%s' is not a valid name for a key: expected up to %d letters, "
		       "digits, '.', '_' or '-'",
		       name, BUS_KEY_NAME);
}

/* A key has one name. */
static int
check_other_names(const bus_known_list *list, const char *folder, const char *name,
		  const char *z85, struct err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct bus_known *known = &list->items[i];

		if (!*known->name || strcmp(known->z85, z85) != 0 ||
		    strcmp(known->name, name) == 0)
			continue;
		err_set(err, folder, 0, 0,
			"%s.pub holds this key already: make a pair for each, or list "
			"its hosts with --hosts",
			known->name);
		return -EEXIST;
	}
	return 0;
}

static int
put(const char *directory, const char *folder, const char *name, const char *z85,
    const char *hosts, enum bus_keys_how how, struct err *err)
{
	char *in = xasprintf("%s/%s", directory, folder);
	struct bus_keys *keys = xcalloc(1, sizeof *keys);
	int error = check_name(name, err);

	keys->directory = xstrdup(directory);
	if (!error)
		error = make_directory(directory, err);
	if (!error)
		error = bus_keys_reload(keys, err);
	if (!error)
		error = check_other_names(*folder == 'a' ? &keys->allowed
							 : &keys->servers,
					  in, name, z85, err);
	if (!error)
		error = put_public(in, name, z85, hosts, how, err);
	bus_keys_free(keys);
	free(in);
	return error;
}

int
bus_keys_allow(const char *directory, const char *name, const char *z85,
	       const char *hosts, enum bus_keys_how how, struct err *err)
{
	return put(directory, "allow", name, z85, hosts, how, err);
}

int
bus_keys_server(const char *directory, const char *host, const char *z85,
		const char *hosts, enum bus_keys_how how, struct err *err)
{
	if (host)
		return put(directory, "servers", host, z85, hosts, how, err);
	return put_public(directory, "server", z85, hosts, how, err);
}
