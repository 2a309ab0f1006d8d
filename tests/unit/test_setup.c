/* SPDX-License-Identifier: Apache-2.0 */
/* test_setup.c - the pure parts of 'antiphase setup': slurm.conf, journal, settings */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/setup/config_text.h"
#include "cli/setup/journal.h"
#include "cli/setup/plan.h"
#include "cli/setup/slurm_facts.h"
#include "cli/setup/survey.h"
#include "cli/setup/targets.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/daemon/settings.h"
#include "scheduler/daemon/settings.h"
#include "tests/unit/test.h"

/* ---- slurm.conf ------------------------------------------------------------------ */

static void
controllers_and_nodes_are_read_as_slurm_does(void **state)
{
	static const char conf[] =
		"# NodeName=no\n"
		" slurmctldhost=head(10.0.0.1)\nSlurmctldHost=spare.example.org\n"
		"NodeName=DEFAULT CPUs=8\nnodename=n[1-2],m3 CPUs=8 # more\n"
		"NodeName=g[1-2] NodeAddr=10.0.0.[7-8]\nTopologyPlugin=topology/tree\n";
	struct slurm_facts facts;

	(void)state;
	assert_int_equal(slurm_facts_read(&facts, conf, "spare"), 0);
	assert_true(facts.is_controller);
	assert_false(facts.is_node);
	assert_string_equal(facts.controller, "head");
	assert_int_equal(facts.nodes.n, 5);
	assert_string_equal(facts.nodes.items[2], "m3");
	assert_string_equal(facts.nodes.items[4], "10.0.0.8");
	slurm_facts_fini(&facts);
	slurm_facts_read(&facts, conf, "g2");
	assert_true(facts.is_node);
	assert_false(facts.is_controller);
	slurm_facts_fini(&facts);
}

static void
lines_that_make_no_sense_are_counted(void **state)
{
	struct slurm_facts facts;

	(void)state;
	assert_int_equal(
		slurm_facts_read(&facts,
				 "NodeName=n[1-\nNodeName=a;b\nNodeName=n[1-999999]\n"
				 "NodeName=n[1-2] NodeAddr=x\nNodeName=ok",
				 "ok"),
		4);
	assert_int_equal(facts.nodes.n, 1);
	assert_true(facts.is_node);
	assert_null(facts.controller);
	slurm_facts_fini(&facts);
	assert_int_equal(slurm_facts_read(&facts, "", "n"), 0);
	slurm_facts_fini(&facts);
}

/* ---- The journal ----------------------------------------------------------------- */

static void
a_journal_reads_back_the_same(void **state)
{
	struct journal journal = { VEC_EMPTY }, again;
	struct journal_entry *entry;
	struct err err;
	char *text, *other;

	(void)state;
	entry = journal_put(&journal, JOURNAL_FILE_WRITTEN, SETUP_CONFIG);
	entry->is_made = true;
	journal_add_version(entry, journal_version_of("a", 1));
	journal_add_version(entry, journal_version_of("b", 1));
	journal_add_version(entry, journal_version_of("c", 1));
	assert_false(journal_has_version(entry, journal_version_of("a", 1)));
	assert_true(journal_has_version(entry, journal_version_of("b", 1)));
	journal_put(&journal, JOURNAL_KEYS_MADE, SETUP_KEYS);
	entry = journal_put(&journal, JOURNAL_UNIT_ENABLED, "antiphase-collector");
	entry->was_active = true;
	assert_ptr_equal(entry, journal_put(&journal, JOURNAL_UNIT_ENABLED,
					    "antiphase-collector"));
	text = journal_text(&journal);
	assert_int_equal(journal_parse(&again, "-", text, strlen(text), &err), 0);
	other = journal_text(&again);
	assert_string_equal(text, other);
	journal_remove(&again, JOURNAL_KEYS_MADE, SETUP_KEYS);
	assert_int_equal(again.entries.n, 2);
	assert_null(journal_find(&again, JOURNAL_KEYS_MADE, SETUP_KEYS));
	assert_non_null(
		journal_find(&again, JOURNAL_UNIT_ENABLED, "antiphase-collector"));
	free(text);
	free(other);
	journal_fini(&journal);
	journal_fini(&again);
}

static void
a_journal_of_other_steps_is_refused(void **state)
{
	static const char *const bad[] = {
		"{\"kind\":\"file\",\"target\":\"/etc/passwd\",\"versions\":[]}",
		"{\"kind\":\"keys\",\"target\":\"/etc\",\"versions\":[]}",
		"{\"kind\":\"unit\",\"target\":\"ssh\",\"versions\":[]}",
		"{\"kind\":\"x\",\"target\":\"" SETUP_CONFIG "\",\"versions\":[]}",
		"{\"kind\":\"file\",\"target\":\"" SETUP_CONFIG
		"\",\"versions\":[{\"crc32c\":-1,\"bytes\":1}]}",
		"{\"kind\":\"file\",\"target\":\"" SETUP_CONFIG "\"}",
		"3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char *text = xasprintf("{\"schema\":\"antiphase.setup_journal/1\","
				       "\"entries\":[%s]}",
				       bad[i]);
		struct journal journal;
		struct err err;

		assert_int_equal(journal_parse(&journal, "-", text, strlen(text), &err),
				 -EINVAL);
		assert_int_equal(journal.entries.n, 0);
		free(text);
	}
}

/* ---- Files and settings ---------------------------------------------------------- */

static void
only_files_that_nobody_changed_are_replaced(void **state)
{
	struct journal_entry entry = { .n_versions = 0 };

	(void)state;
	journal_add_version(&entry, journal_version_of("old", 3));
	assert_int_equal(setup_plan_file_state("new", NULL, 0, NULL), SETUP_TO_DO);
	assert_int_equal(setup_plan_file_state("new", "new", 3, NULL), SETUP_THERE);
	assert_int_equal(setup_plan_file_state("new", "old", 3, &entry), SETUP_TO_DO);
	assert_int_equal(setup_plan_file_state("new", "old", 3, NULL), SETUP_LEFT);
	assert_int_equal(setup_plan_file_state("new", "odd", 3, &entry), SETUP_LEFT);
	assert_int_equal(setup_plan_file_state("new", "newer", 5, &entry), SETUP_LEFT);
}

static void
settings_of_a_head_are_read_by_its_scheduler(void **state)
{
	struct survey survey = { .root = "", .host = (char *)"head", .has_btf = true };
	config_lines lines;
	struct settings *settings = settings_new(&settings_scheduler);
	struct err err = { .text = "" };
	char *text;

	(void)state;
	survey.slurm_conf = (char *)"/etc/slurm/slurm.conf";
	survey.has_program[SURVEY_SCHEDULER] = true;
	slurm_facts_read(&survey.slurm, "SlurmctldHost=head\nNodeName=n[1-2]\n",
			 "head");
	assert_true(survey_is_head(&survey));
	assert_true(survey_is_clustered(&survey));
	config_lines_of(&survey, &lines);
	text = config_text(&lines, "head");
	assert_int_equal(settings_parse(settings, "x", text, strlen(text), &err), 0);
	assert_string_equal(settings_text(settings, "scheduler", "bus"),
			    "tcp://n1:7461,tcp://n2:7461");
	assert_string_equal(settings_text(settings, "scheduler", "keys"), SETUP_KEYS);
	/* Neither a service nor a file is there. */
	assert_string_equal(settings_text(settings, "scheduler", "topology"), "none");
	config_lines_fini(&lines);
	free(text);
	/* Too many nodes are for proxies, which a person names. */
	slurm_facts_fini(&survey.slurm);
	slurm_facts_read(&survey.slurm, "SlurmctldHost=head\nNodeName=n[1-65]\n",
			 "head");
	config_lines_of(&survey, &lines);
	text = config_text(&lines, "head");
	assert_non_null(strstr(text, "\n#bus =\n"));
	assert_null(strstr(text, "\nkeys ="));
	config_lines_fini(&lines);
	free(text);
	slurm_facts_fini(&survey.slurm);
	settings_free(settings);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controllers_and_nodes_are_read_as_slurm_does),
		cmocka_unit_test(lines_that_make_no_sense_are_counted),
		cmocka_unit_test(a_journal_reads_back_the_same),
		cmocka_unit_test(a_journal_of_other_steps_is_refused),
		cmocka_unit_test(only_files_that_nobody_changed_are_replaced),
		cmocka_unit_test(settings_of_a_head_are_read_by_its_scheduler),
	};

	return cmocka_run_group_tests_name("setup", tests, NULL, NULL);
}
