/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/cgroup_path.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/err.h"

/* A component of a path: not terminated. */
struct part {
	const char *text;
	size_t length;
};

/* Reads the component at '*at' and moves '*at' past it.  False at the end. */
static bool
next_part(const char **at, struct part *ret_part)
{
	const char *p = *at;

	while (*p == '/')
		p++;
	if (!*p)
		return false;
	ret_part->text = p;
	ret_part->length = strcspn(p, "/");
	*at = p + ret_part->length;
	return true;
}

static bool
begins_with(struct part part, const char *word)
{
	return part.length >= strlen(word) && !memcmp(part.text, word, strlen(word));
}

static bool
ends_with(struct part part, const char *word)
{
	size_t n = strlen(word);

	return part.length >= n && !memcmp(part.text + part.length - n, word, n);
}

static bool
is(struct part part, const char *word)
{
	return part.length == strlen(word) && begins_with(part, word);
}

/* ---- Slurm ----------------------------------------------------------------------- */

/* "slurmstepd.scope", after the node's name if several slurmd run on one host. */
static bool
is_slurm_scope(struct part part)
{
	return is(part, "slurmstepd.scope") || ends_with(part, "_slurmstepd.scope");
}

/* The same in the layout of v1. */
static bool
is_slurm_v1(struct part part)
{
	return is(part, "slurm") || begins_with(part, "slurm_");
}

static bool
slurm_name(struct part part, char name[TELE_MAX_NAME + 1])
{
	const char *id = part.text + strlen("job_");
	size_t n;

	if (!begins_with(part, "job_"))
		return false;
	n = part.length - strlen("job_");
	if (n == 0 || n > 20)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)id[i]))
			return false;
	memcpy(name, id, n);
	name[n] = '\0';
	return true;
}

/* ---- Kubernetes ------------------------------------------------------------------ */

/* A pod's uid: a UUID, or 32 digits of a hash for static pods. */
static bool
pod_uid(const char *text, size_t n, char name[TELE_MAX_NAME + 1])
{
	static const char prefix[] = "pod-";
	size_t at = sizeof prefix - 1;

	if (n < 8 || n > 36)
		return false;
	memcpy(name, prefix, at);
	for (size_t i = 0; i < n; i++) {
		/* systemd's slices have '_' where others have '-'. */
		char c = text[i] == '_' ? '-' : text[i];

		if (!isxdigit((unsigned char)c) && c != '-')
			return false;
		name[at++] = c;
	}
	name[at] = '\0';
	return true;
}

/*
 * "podUID" with the cgroupfs driver.  With systemd's a slice in "A.slice" is named
 * "A-*.slice": 'stem' is "A", and this "A-podUID.slice".
 */
static bool
kubernetes_name(struct part part, struct part stem, char name[TELE_MAX_NAME + 1])
{
	static const char slice[] = ".slice", pod[] = "-pod";
	size_t skip = stem.length + sizeof pod - 1, end = sizeof slice - 1;

	if (!stem.length)
		return begins_with(part, "pod") &&
		       pod_uid(part.text + 3, part.length - 3, name);
	return part.length > skip + end && ends_with(part, slice) &&
	       !memcmp(part.text, stem.text, stem.length) &&
	       !memcmp(part.text + stem.length, pod, sizeof pod - 1) &&
	       pod_uid(part.text + skip, part.length - skip - end, name);
}

/* The class of pods that are guaranteed nothing, or a part of what they may use. */
static bool
is_class(struct part part, struct part stem, const char *word)
{
	size_t n = stem.length;

	if (!n)
		return is(part, word);
	return part.length == n + 1 + strlen(word) + strlen(".slice") &&
	       !memcmp(part.text, stem.text, n) && part.text[n] == '-' &&
	       !memcmp(part.text + n + 1, word, strlen(word)) &&
	       ends_with(part, ".slice");
}

/* The stem of kubelet's slice; not of a slice: empty. */
static struct part
stem_of(struct part part)
{
	part.length = ends_with(part, ".slice") ? part.length - strlen(".slice") : 0;
	return part;
}

/* Below kubelet's control group 'top', at '*at'; moves '*at' behind the pod's. */
static bool
below_kubelet(struct part top, const char **at, char name[TELE_MAX_NAME + 1])
{
	struct part stem = stem_of(top), part;

	if (!next_part(at, &part))
		return false;
	if (is_class(part, stem, "burstable") || is_class(part, stem, "besteffort")) {
		stem = stem_of(part);
		if (!next_part(at, &part))
			return false;
	}
	return kubernetes_name(part, stem, name);
}

/* ---- systemd --------------------------------------------------------------------- */

static bool
matches_one(const char *name, const char *patterns)
{
	char pattern[TELE_MAX_NAME + 1];

	while (*patterns) {
		size_t n = strcspn(patterns, ",");

		if (n > 0 && n < sizeof pattern) {
			memcpy(pattern, patterns, n);
			pattern[n] = '\0';
			if (!fnmatch(pattern, name, 0))
				return true;
		}
		patterns += n + (patterns[n] == ',');
	}
	return false;
}

static bool
service_name(struct part part, const char *services, char name[TELE_MAX_NAME + 1])
{
	char unit[TELE_MAX_NAME + 1];

	if (!ends_with(part, ".service") && !ends_with(part, ".scope"))
		return false;
	/* Names are cut here as everywhere; those of units can have 255 letters. */
	snprintf(unit, sizeof unit, "%.*s", (int)part.length, part.text);
	if (!matches_one(unit, services))
		return false;
	memcpy(name, unit, sizeof unit);
	return true;
}

/* ---------------------------------------------------------------------------------- */

/* Names are shown to people and go into metrics. */
static bool
is_printable(const char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			return false;
	return true;
}

/*
 * The job of a path below a root of layouts; '*at' ends behind the job's directory.  Of
 * nested schedulers, the outermost.
 */
static bool
layout_name(const char **at, char name[TELE_MAX_NAME + 1])
{
	struct part part, inner;

	if (!next_part(at, &part))
		return false;
	if (is_slurm_v1(part))
		return next_part(at, &inner) &&
		       (!begins_with(inner, "uid_") || next_part(at, &inner)) &&
		       slurm_name(inner, name);
	if (is(part, "kubepods") || is(part, "kubepods.slice"))
		return below_kubelet(part, at, name);
	if (is(part, "kubelet") || is(part, "kubelet.slice"))
		return next_part(at, &inner) &&
		       is(inner, stem_of(part).length ? "kubelet-kubepods.slice"
						      : "kubepods") &&
		       below_kubelet(inner, at, name);
	if (is(part, "system.slice") && !next_part(at, &part))
		return false;
	return is_slurm_scope(part) && next_part(at, &inner) && slurm_name(inner, name);
}

/* Of the list by comma at '*at'; moves '*at' past it.  False at the end. */
static bool
next_root(const char **at, struct part *ret_root)
{
	while (**at == ',' || **at == ' ')
		(*at)++;
	ret_root->text = *at;
	ret_root->length = strcspn(*at, ", ");
	*at += ret_root->length;
	while (ret_root->length && ret_root->text[ret_root->length - 1] == '/')
		ret_root->length--;
	return *at != ret_root->text;
}

/* As layout_name(), from the root of the tree or a named one. */
static bool
scheduler_name(const char *path, size_t rooted, const char *roots,
	       char name[TELE_MAX_NAME + 1])
{
	struct part root = { path, 0 };

	do {
		const char *at = path + root.length;

		if (!strncmp(path, root.text, root.length) && (!*at || *at == '/') &&
		    layout_name(&at, name) && (size_t)(at - path) <= rooted)
			return true;
	} while (roots && next_root(&roots, &root));
	return false;
}

static bool
unit_name(const char *path, size_t rooted, const char *services,
	  char name[TELE_MAX_NAME + 1])
{
	char found[TELE_MAX_NAME + 1];
	const char *at = path;
	bool is_found = false;
	struct part part;

	/* What is before 'part' must be root's. */
	for (size_t before = 0; before <= rooted && next_part(&at, &part);
	     before = (size_t)(at - path))
		if (service_name(part, services, found) && is_printable(found)) {
			memcpy(name, found, sizeof found);
			is_found = true;
		}
	return is_found;
}

/* Whether a component leads away from the names of root: users', or out of the tree. */
static bool
is_astray(const char *path)
{
	struct part part;

	while (next_part(&path, &part))
		if (is(part, "user.slice") || is(part, ".."))
			return true;
	return false;
}

bool
cgroup_job_name(const char *path, size_t rooted, const struct cgroup_rules *rules,
		char name[TELE_MAX_NAME + 1])
{
	if (scheduler_name(path, rooted, rules ? rules->roots : NULL, name))
		return true;
	return rules && rules->services && !is_astray(path) &&
	       unit_name(path, rooted, rules->services, name);
}

int
cgroup_check_roots(const char *roots, struct err *err)
{
	struct part root;
	char text[CGROUP_MAX_PATH];

	while (roots && next_root(&roots, &root)) {
		snprintf(text, sizeof text, "%.*s", (int)root.length, root.text);
		if (*text != '/' || root.length >= sizeof text)
			return err_set(err, NULL, 0, 0,
				       "job_roots: '%s' is not a path of a control "
				       "group, from the root of the tree",
				       text);
		if (is_astray(text))
			return err_set(err, NULL, 0, 0,
				       "job_roots: users make control groups in '%s', "
				       "so none there may name a job",
				       text);
	}
	return 0;
}

bool
cgroup_is_below(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(path, prefix, n) && (!path[n] || path[n] == '/');
}

/* ---- /proc/self/mountinfo -------------------------------------------------------- */

/* "36 35 98:0 /root /mount/point rw,noatime master:1 - cgroup2 source options" */
struct mount {
	struct part root, point, type;
};

static struct part
next_field(const char **at, const char *end)
{
	struct part field;

	while (*at < end && **at == ' ')
		(*at)++;
	field.text = *at;
	while (*at < end && **at != ' ')
		(*at)++;
	field.length = (size_t)(*at - field.text);
	return field;
}

static bool
parse_mount(const char *at, const char *end, struct mount *ret_mount)
{
	struct part field;

	for (int i = 0; i < 3; i++)
		next_field(&at, end);
	ret_mount->root = next_field(&at, end);
	ret_mount->point = next_field(&at, end);
	do {
		field = next_field(&at, end);
		if (!field.length)
			return false;
	} while (!is(field, "-"));
	ret_mount->type = next_field(&at, end);
	return ret_mount->type.length > 0;
}

static bool
is_octal(const char *text)
{
	return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' &&
	       text[2] >= '0' && text[2] <= '7';
}

/* The kernel writes blanks, tabs, newlines and '\' as "\040". */
static bool
unescape(struct part from, char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < from.length; i++) {
		char c = from.text[i];

		if (c == '\\' && i + 3 < from.length && is_octal(from.text + i + 1)) {
			c = (char)((from.text[i + 1] - '0') << 6 |
				   (from.text[i + 2] - '0') << 3 |
				   (from.text[i + 3] - '0'));
			i += 3;
		}
		if (n + 1 >= size || !c)
			return false;
		to[n++] = c;
	}
	to[n] = '\0';
	return n > 0;
}

bool
cgroup_find_mount(const char *mountinfo, size_t length, char *path, size_t size)
{
	const char *end = mountinfo + length;
	bool is_found = false;

	while (mountinfo < end) {
		const char *newline =
			memchr(mountinfo, '\n', (size_t)(end - mountinfo));
		const char *stop = newline ? newline : end;
		struct mount mount;

		if (parse_mount(mountinfo, stop, &mount) && is(mount.type, "cgroup2") &&
		    (!is_found || is(mount.root, "/")) &&
		    unescape(mount.point, path, size)) {
			is_found = true;
			if (is(mount.root, "/"))
				return true;
		}
		mountinfo = stop + 1;
	}
	return is_found;
}
