/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/err.h"
#include "tests/unit/test.h"
#include "topology/read.h"
#include "topology/topo.h"
#include "topology/write.h"

static struct topo *
read_text(const char *text)
{
	struct topo *topo = NULL;
	struct err err = { .text = "" };

	if (topo_read("t", text, strlen(text), NULL, &topo, &err) < 0)
		fail_msg("line %u: %s", err.line, err.text);
	return topo;
}

/* Reads an invalid file, and compares position and message. */
static void
assert_refused(const char *text, unsigned line, const char *part)
{
	const struct topo_read_opts opts = { .format = TOPO_FORMAT_TOPOGRAPH };
	struct topo *topo;
	struct err err = { .text = "" };

	assert_true(topo_read("t", text, strlen(text), &opts, &topo, &err) < 0);
	if (!strstr(err.text, part) || err.line != line)
		fail_msg("line %u: '%s' instead of line %u: '%s'", err.line, err.text,
			 line, part);
}

static void
assert_under(const struct topo *topo, const char *leaf, uint32_t tier,
	     const char *const *hosts)
{
	uint32_t node = topo_find_node(topo, leaf);

	assert_int_not_equal(node, TOPO_NONE);
	assert_int_equal(topo_node(topo, node)->tier, tier);
	for (; *hosts; hosts++)
		assert_int_equal(topo_leaf_of(topo, topo_find_node(topo, *hosts)),
				 node);
}

static void
a_model_is_read_with_lists_of_both_kinds(void **state)
{
	static const char text[] = "# A model.\n"
				   "switches:\n"
				   "  core:\n"
				   "    metadata:\n"
				   "      region: us-west\n"
				   "    switches: [leaf1, leaf2]\n"
				   "  leaf1:\n"
				   "    nodes:\n"
				   "    - I21   # the first\n"
				   "    - I22\n"
				   "  leaf2:\n"
				   "    nodes: [\"n[1-2]\", n3]\n"
				   "nodes:\n"
				   "  I21:\n"
				   "    attributes: {}\n"
				   "capacity_blocks:\n"
				   "  cb1:\n"
				   "    nodes: [\"I[21-22]\"]\n";
	struct topo *topo = read_text(text);

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 5);
	assert_under(topo, "leaf1", 1, (const char *const[]){ "I21", "I22", NULL });
	assert_under(topo, "leaf2", 1, (const char *const[]){ "n1", "n2", "n3", NULL });
	assert_under(topo, "core", 2, (const char *const[]){ NULL });
	assert_int_equal(topo_n_links(topo), 2 * 7);
	topo_unref(topo);
}

static void
the_default_tree_of_a_topology_yaml_is_read(void **state)
{
	static const char text[] = "---\n"
				   "- topology: other\n"
				   "  cluster_default: false\n"
				   "  tree:\n"
				   "    switches:\n"
				   "      - switch: x\n"
				   "        nodes: y[1-9]\n"
				   "- topology: racks\n"
				   "  cluster_default: true\n"
				   "  tree:\n"
				   "    switches:\n"
				   "      - switch: sw_root\n"
				   "        children: s[1-2]\n"
				   "      - switch: s1\n"
				   "        nodes: node[1-2]\n"
				   "      - switch: s2\n"
				   "        nodes: 'node[3-4]'\n"
				   "- topology: blocks\n"
				   "  block:\n"
				   "    block_sizes:\n"
				   "      - 2\n"
				   "    blocks:\n"
				   "      - block: b1\n"
				   "        nodes: node[1-2]\n";
	struct topo *topo = read_text(text);

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 4);
	assert_under(topo, "s2", 1, (const char *const[]){ "node3", "node4", NULL });
	assert_under(topo, "sw_root", 2, (const char *const[]){ NULL });
	topo_unref(topo);
}

static void
keep_note(void *ctx, const char *note)
{
	snprintf(ctx, 128, "%s", note);
}

static void
of_several_topologies_the_used_one_is_told(void **state)
{
	static const char text[] =
		"# of Slurm 26.05\n"
		"- topology: b\n"
		"  cluster_default: true\n"
		"  block: {block_sizes: [2]}\n"
		"- topology: t1\n"
		"  tree: {switches: [{switch: s, nodes: 'n[1-2]'}]}\n"
		"- topology: t2\n"
		"  cluster_default: Yes\n"
		"  tree: {switches: [{switch: s, nodes: 'n[1-3]'}]}\n"
		"- topology: f\n"
		"  flat: true\n";
	char note[128] = "";
	const struct topo_read_opts opts = { .format = TOPO_FORMAT_SLURM,
					     .on_note = keep_note,
					     .ctx = note };
	struct topo *topo;
	struct err err = { .text = "" };

	(void)state;
	assert_int_equal(topo_read("t", text, strlen(text), &opts, &topo, &err), 0);
	assert_int_equal(topo_n_hosts(topo), 3);
	assert_string_equal(note, "topology 't2' is used; left out: 'b' (block), 't1' "
				  "(tree), 'f' (flat)");
	topo_unref(topo);
}

static void
what_slurm_26_05_prints_is_read(void **state)
{
	/* 'scontrol show topoconf', and 'scontrol show topology' of the same. */
	struct topo *a = read_text("%YAML 1.1\n---\n"
				   "- topology: x\n"
				   "  cluster_default: true\n"
				   "  block: {}\n"
				   "  flat: {}\n"
				   "  ring: {}\n"
				   "  torus3d: {}\n"
				   "  tree:\n"
				   "    switches:\n"
				   "    - switch: s1\n"
				   "      children:\n"
				   "      nodes: h[0-1]\n"
				   "    - switch: s2\n"
				   "      children: s1\n"
				   "      nodes:\n"
				   "...\n");
	struct topo *b = read_text(
		"SwitchName=s1 Level=0 LinkSpeed=0 Nodes=h[0-1]\n"
		"SwitchName=s2 Level=1 LinkSpeed=0 Nodes=h[0-1] Switches=s1\n");

	(void)state;
	assert_true(topo_is_same(a, b));
	topo_unref(a);
	topo_unref(b);
}

/* Writes a fabric with 'write', and returns the text, to be freed. */
static char *
written(const struct topo *topo,
	int (*write)(const struct topo *, FILE *, struct err *))
{
	struct err err = { .text = "" };
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	assert_non_null(out);
	if (write(topo, out, &err) < 0)
		fail_msg("%s", err.text);
	fclose(out);
	return text;
}

#define FABRIC(name, switches, hosts, cables)                                      \
	"{\"schema\":\"antiphase.topology/1\",\"name\":\"" name                    \
	"\",\"switches\":[" switches "],\"hosts\":[" hosts "],\"cables\":[" cables \
	"]}"
#define SWITCH(name, tier) "{\"name\":\"" name "\",\"tier\":" tier "}"
#define HOST(name)         "{\"name\":\"" name "\",\"slots\":1}"
#define CABLE(a, b)        "{\"a\":\"" a "\",\"b\":\"" b "\",\"gbps\":100}"

static void
what_is_written_for_slurm_is_read_again(void **state)
{
	/* A host at the spine, and one without a switch. */
	static const char text[] = FABRIC(
		"x y",
		SWITCH("leaf", "1") "," SWITCH("no", "1") "," SWITCH("spine", "2"),
		HOST("h1") "," HOST("h2") "," HOST("io") "," HOST("alone"),
		CABLE("h1:p", "leaf:1") "," CABLE("h2:p", "leaf:2") "," CABLE(
			"leaf:3", "spine:1") "," CABLE("io:p", "spine:2"));
	struct topo *topo = read_text(text), *again;
	char *yaml = written(topo, topo_slurm_yaml_write);
	char *conf = written(topo, topo_slurm_conf_write);

	(void)state;
	assert_string_equal(conf, "# Without a switch: alone\n"
				  "SwitchName=leaf Nodes=h[1-2]\n"
				  "SwitchName=spine.hosts Nodes=io\n"
				  "SwitchName=spine Switches=leaf,spine.hosts\n");
	assert_string_equal(yaml, "# Without a switch: alone\n"
				  "- topology: \"fabric\"\n"
				  "  cluster_default: true\n"
				  "  tree:\n"
				  "    switches:\n"
				  "      - switch: \"leaf\"\n"
				  "        nodes: \"h[1-2]\"\n"
				  "      - switch: \"spine.hosts\"\n"
				  "        nodes: \"io\"\n"
				  "      - switch: \"spine\"\n"
				  "        children: \"leaf,spine.hosts\"\n");
	topo_unref(topo);
	topo = read_text(conf);
	again = read_text(yaml);
	assert_true(topo_is_same(topo, again));
	assert_under(again, "leaf", 1, (const char *const[]){ "h1", "h2", NULL });
	topo_unref(topo);
	topo_unref(again);
	free(yaml);
	free(conf);
}

static void
a_switch_that_slurm_could_not_name_is_refused(void **state)
{
	static const char text[] = FABRIC(
		"x",
		SWITCH("leaf", "1") "," SWITCH("s.hosts", "1") "," SWITCH("s", "2"),
		HOST("h1") "," HOST("io"),
		CABLE("h1:p", "leaf:1") "," CABLE("leaf:2", "s:1") "," CABLE("io:p",
									     "s:2"));
	struct topo *topo = read_text(text);
	struct err err = { .text = "" };

	(void)state;
	assert_int_equal(topo_slurm_yaml_write(topo, stdout, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'s.hosts', which is another node"));
	topo_unref(topo);
}

static void
the_graph_of_instances_is_read(void **state)
{
	static const char text[] =
		"{\"instances\":[{\"id\":\"I21\",\"type\":\"H100\",\"network_layers\":["
		"\"leaf-a\",\"spine-a\"],\"attributes\":{\"nvlink\":\"n\"}},"
		"{\"id\":\"I22\",\"network_layers\":[\"leaf-a\",\"spine-a\"]},"
		"{\"id\":\"I23\",\"network_layers\":[\"leaf-b\",\"spine-a\"]}]}";
	struct topo *topo = read_text(text);

	(void)state;
	assert_int_equal(topo_n_hosts(topo), 3);
	assert_under(topo, "leaf-a", 1, (const char *const[]){ "I21", "I22", NULL });
	assert_under(topo, "leaf-b", 1, (const char *const[]){ "I23", NULL });
	assert_under(topo, "spine-a", 2, (const char *const[]){ NULL });
	assert_int_equal(topo_n_links(topo), 2 * (3 + 2));
	topo_unref(topo);
}

static void
its_topology_conf_is_slurms(void **state)
{
	struct topo *topo = read_text("# switch.2.1=core\n"
				      "SwitchName=switch.2.1 Switches=switch.1.[1-2]\n"
				      "# switch.1.1=leaf-1\n"
				      "SwitchName=switch.1.1 Nodes=srv[1-2]\n"
				      "SwitchName=switch.1.2 Nodes=srv3\n");

	(void)state;
	assert_under(topo, "switch.1.1", 1,
		     (const char *const[]){ "srv1", "srv2", NULL });
	topo_unref(topo);
}

static void
what_is_wrong_is_told_with_its_line(void **state)
{
	(void)state;
	assert_refused("switches:\n  a:\n    nodes: x\n\n  b:\n    switches: nobody\n",
		       5, "nobody");
	assert_refused("switches:\n  a:\n    node: x\n", 3, "did you mean 'nodes'?");
	assert_refused("switches:\n  a:\n    nodes: [x, \"y z\"]\n", 3,
		       "expected a name");
	assert_refused("switches:\n  a b:\n    nodes: x\n", 2, "is not a switch name");
	assert_refused("switches:\n  a:\n    nodes: x\n   c: y\n", 4,
		       "did not find expected key");
	assert_refused("switches:\n\ta:\n", 2, "cannot start any token");
	assert_refused("switches: &x\n", 1, "anchor");
	assert_refused("switches:\n  a:\n    nodes: [x\n", 4, "expected ',' or ']'");
	assert_refused("switches:\n  a:\n    nodes: [x,,y]\n", 3, "expected node");
	assert_refused("switches:\n  a:\n    nodes: x\n---\nswitches: {}\n", 5,
		       "a second document");
	assert_refused("- tree: {switches: {}}\n", 1, "no list of \"switches\"");
	assert_refused("- tree:\n    switches:\n    - x\n", 3, "switch: NAME");
	assert_refused("switches: {}\n", 0, "has no switches");
	assert_refused("- block: x\n  blocks: y\n", 0, "has no tree of switches");
	assert_refused("", 0, "is empty");
	assert_refused("# nothing\n", 0, "is empty");
	assert_refused("{\"instances\":[]}", 0, "has no switches");
	assert_refused(
		"{\"instances\":[{\"id\":\"n[1-2]\",\"network_layers\":[\"a\"]}]}", 1,
		"not a valid name");
	assert_refused("{\"instances\":[{\"id\":\"n\",\"network_layers\":[]}]}", 1,
		       "0 network layers");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_model_is_read_with_lists_of_both_kinds),
		cmocka_unit_test(the_default_tree_of_a_topology_yaml_is_read),
		cmocka_unit_test(of_several_topologies_the_used_one_is_told),
		cmocka_unit_test(what_slurm_26_05_prints_is_read),
		cmocka_unit_test(what_is_written_for_slurm_is_read_again),
		cmocka_unit_test(a_switch_that_slurm_could_not_name_is_refused),
		cmocka_unit_test(the_graph_of_instances_is_read),
		cmocka_unit_test(its_topology_conf_is_slurms),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
