/* SPDX-License-Identifier: Apache-2.0 */
/* bus_keys.c - keys of the bus: CURVE pairs as text (Z85, RFC 32), in files. */
#include "lib/wire/bus_keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zmq.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/sort.h"
#include "lib/wire/bus.h"
#include "lib/wire/tele.h"

#define MAX_ALLOWED 65536

/* ---- Files ----------------------------------------------------------------------- */

/* Reads a key from a file of one line.  A secret key must be private to its user. */
static int
read_key(const char *path, bool is_secret, char ret_z85[BUS_Z85_CHARS + 1],
	 struct err *err)
{
	/* O_NONBLOCK: the name may be that of a pipe without a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[BUS_Z85_CHARS + 3];
	struct stat status;
	ssize_t n;
	int error;

	if (fd < 0) {
		error = err_set_errno(err, path, errno, "cannot open");
		if (error == -EACCES)
			err_append(err,
				   "; keys must belong to the user that uses them: "
				   "'chown' the directory and what is in it");
		return error;
	}
	if (is_secret && (fstat(fd, &status) < 0 || (status.st_mode & 077))) {
		close(fd);
		err_set(err, path, 0, 0,
			"is a secret that others can read; 'chmod 600' it, or make a new "
			"pair if they may have");
		return -EACCES;
	}
	n = read(fd, text, sizeof text - 1);
	error = errno;
	close(fd);
	if (n < 0)
		return err_set_errno(err, path, error, "cannot read");
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	text[n] = '\0';
	error = bus_key_check(text);
	if (error)
		err_set(err, path, 0, 0,
			"holds no key: expected a line of %d characters",
			BUS_Z85_CHARS);
	else
		memcpy(ret_z85, text, BUS_Z85_CHARS + 1);
	explicit_bzero(text, sizeof text);
	return error;
}

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

int
bus_key_check(const char *z85)
{
	uint8_t bytes[BUS_KEY_BYTES];
	int error = 0;

	/* zmq_z85_decode() does not check for other characters. */
	for (size_t i = 0; z85[i]; i++) {
		if (i >= BUS_Z85_CHARS || z85[i] <= ' ' || z85[i] > '~')
			return -EINVAL;
	}
	if (strlen(z85) != BUS_Z85_CHARS || !zmq_z85_decode(bytes, z85))
		error = -EINVAL;
	explicit_bzero(bytes, sizeof bytes);
	return error;
}

/* ---- Our own pair ---------------------------------------------------------------- */

int
bus_keys_new(const char *directory, struct err *err)
{
	char public[BUS_Z85_CHARS + 1], secret[BUS_Z85_CHARS + 1];
	char *secret_path = xasprintf("%s/self.key", directory);
	char *public_path = xasprintf("%s/self.pub", directory);
	int error = make_directory(directory, err);

	if (error < 0)
		goto out;
	if (zmq_curve_keypair(public, secret) < 0) {
		err_set(err, NULL, 0, 0, "this libzmq was built without CURVE");
		error = -ENOTSUP;
		goto out;
	}
	error = write_key(secret_path, secret, 0600, err);
	if (!error)
		error = write_key(public_path, public, 0644, err);
out:
	explicit_bzero(secret, sizeof secret);
	free(secret_path);
	free(public_path);
	return error;
}

/* ---- Keys of others -------------------------------------------------------------- */

/* Names are used as file names: letters, digits, inner dots, dashes, underscores. */
static bool
is_file_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789._-");

	return n > 0 && n <= BUS_KEY_NAME && name[n] == '\0' && name[0] != '.' &&
	       name[0] != '-';
}

static int
put_public(const char *directory, const char *folder, const char *name, const char *z85,
	   struct err *err)
{
	char *in =
		xasprintf("%s%s%s", directory, folder ? "/" : "", folder ? folder : "");
	char *path = xasprintf("%s/%s.pub", in, name);
	int error = 0;

	if (bus_key_check(z85) < 0)
		error = err_set(
			err, NULL, 0, 0,
			"'%s' is not a public key: expected the %d characters that "
			"'antiphase keys new' prints",
			z85, BUS_Z85_CHARS);
	if (!error)
		error = make_directory(directory, err);
	if (!error)
		error = make_directory(in, err);
	if (!error)
		error = write_key(path, z85, 0644, err);
	free(path);
	free(in);
	return error;
}

int
bus_keys_allow(const char *directory, const char *name, const char *z85,
	       struct err *err)
{
	if (!is_file_name(name))
		return err_set(
			err, NULL, 0, 0,
			"'%s' is not a valid name for a key: expected up to %d letters, "
			"digits, '.', '_' or '-'",
			name, BUS_KEY_NAME);
	return put_public(directory, "allow", name, z85, err);
}

int
bus_keys_server(const char *directory, const char *z85, struct err *err)
{
	return put_public(directory, NULL, "server", z85, err);
}

static int
by_name(const void *a, const void *b)
{
	const struct bus_allowed *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/*
 * Reads 'allow/'.  A file without a key allows no one and is named in the log:
 * one bad file must not lock out all others.
 */
static int
read_allowed(struct bus_keys *keys, struct err *err)
{
	char *folder = xasprintf("%s/allow", keys->directory);
	DIR *dir = opendir(folder);
	struct dirent *entry;

	if (!dir) {
		int error = errno;

		if (error == ENOENT)
			keys->allowed.n = 0;
		else
			err_set_errno(err, folder, error, "cannot read the directory");
		free(folder);
		return error == ENOENT ? 0 : -error;
	}
	keys->allowed.n = 0;
	while ((entry = readdir(dir)) && keys->allowed.n < MAX_ALLOWED) {
		struct bus_allowed allowed = { 0 };
		size_t length = strlen(entry->d_name);
		struct err why;
		char *path;

		if (length < 5 || length - 4 > BUS_KEY_NAME ||
		    strcmp(entry->d_name + length - 4, ".pub") != 0)
			continue;
		memcpy(allowed.name, entry->d_name, length - 4);
		path = xasprintf("%s/%s", folder, entry->d_name);
		if (read_key(path, false, allowed.z85, &why) == 0)
			vec_push(&keys->allowed, allowed);
		else
			log_warn("bus", "%s: %s", path, why.text);
		free(path);
	}
	closedir(dir);
	free(folder);
	sort_items(keys->allowed.items, keys->allowed.n, by_name);
	return 0;
}

int
bus_keys_reload(struct bus_keys *keys)
{
	return read_allowed(keys, NULL);
}

const char *
bus_keys_name(const struct bus_keys *keys, const char *z85)
{
	for (size_t i = 0; i < keys->allowed.n; i++) {
		if (strcmp(keys->allowed.items[i].z85, z85) == 0)
			return keys->allowed.items[i].name;
	}
	return NULL;
}

/* ---- All keys -------------------------------------------------------------------- */

int
bus_keys_load(const char *directory, struct bus_keys **ret_keys, struct err *err)
{
	struct bus_keys *keys = xcalloc(1, sizeof *keys);
	char *secret_path = xasprintf("%s/self.key", directory);
	char *server_path = xasprintf("%s/server.pub", directory);
	int error;

	keys->directory = xstrdup(directory);
	error = read_key(secret_path, true, keys->secret, err);
	if (error == -ENOENT)
		err_append(err, "; 'antiphase keys new' makes a pair of keys");
	if (error < 0)
		goto out;
	if (zmq_curve_public(keys->public, keys->secret) < 0) {
		error = err_set(err, secret_path, 0, 0, "holds no secret key");
		goto out;
	}
	if (access(server_path, F_OK) == 0) {
		error = read_key(server_path, false, keys->server, err);
		if (error < 0)
			goto out;
	}
	error = read_allowed(keys, err);
out:
	free(secret_path);
	free(server_path);
	if (error < 0)
		bus_keys_free(keys);
	else
		*ret_keys = keys;
	return error;
}

struct bus_keys *
bus_keys_copy(const struct bus_keys *keys)
{
	struct bus_keys *copy = xmemdup(keys, 1, sizeof *keys);

	copy->directory = xstrdup(keys->directory);
	copy->allowed.items = xmemdup(keys->allowed.items, keys->allowed.n,
				      sizeof keys->allowed.items[0]);
	copy->allowed.capacity = keys->allowed.n;
	return copy;
}

void
bus_keys_free(struct bus_keys *keys)
{
	if (!keys)
		return;
	vec_free(&keys->allowed);
	free(keys->directory);
	explicit_bzero(keys, sizeof *keys);
	free(keys);
}
