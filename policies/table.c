/*
 * table.c - the schedulers of the literature: a row each.
 */
#include <string.h>

#include "policies/admits.h"
#include "policies/orders.h"
#include "policies/places.h"
#include "policies/planners.h"
#include "policies/policy.h"
#include "policies/sizes.h"

/* Two queues, in each as they came; the limit is 16 GPU hours. */
static const struct pol_param tiresias_rounds[] = {
	{ .name = "las2d.limit0", .value = 57600 },
	{ .name = "las2d.limit1", .value = 1e12 },
	{ .name = "las2d.prefer_running", .value = 0 },
	{ 0 },
};

static const struct pol_param half_a_minute[] = {
	{ .name = "deficit.credit_s", .value = 30 },
	{ 0 },
};

static const struct pol_param at_once[] = {
	{ .name = "deficit.reset_s", .value = 0 },
	{ .name = "deficit.credit_s", .value = 0 },
	{ .name = "deficit.remember", .value = 1 },
	{ 0 },
};

const struct policy_spec policy_table[] = {
	{
		.name = "fifo",
		.text = "as they came; nobody passes one that does not fit",
		.source = "Tiresias's simulator (\"fifo\")",
		.keep = POL_KEEP_ALL,
		.order = &order_fifo,
		.place = &place_count,
	},
	{
		.name = "fifo-backfill",
		.text = "as they came; whoever fits, runs",
		.source = "Tiresias's simulator (\"fjf\")",
		.keep = POL_KEEP_ALL,
		.order = &order_fifo_backfill,
		.place = &place_count,
	},
	{
		.name = "smallest",
		.text = "fewest GPUs first, preemptive",
		.source = "Tiresias's simulator (\"sjf\")",
		.order = &order_smallest,
		.place = &place_count,
	},
	{
		.name = "longest-pending",
		.text = "longest waiting first",
		.source = "Tiresias's simulator (\"lpjf\")",
		.keep = POL_KEEP_ALL,
		.order = &order_longest_pending,
		.place = &place_count,
	},
	{
		.name = "srtf",
		.text = "least remaining time first, preemptive",
		.source = "Tiresias's simulator (\"shortest\")",
		.order = &order_srtf,
		.place = &place_count,
	},
	{
		.name = "srsf",
		.text = "least remaining GPU time first, preemptive",
		.source = "Tiresias's simulator (\"shortest-gpu\")",
		.order = &order_srsf,
		.place = &place_count,
	},
	{
		.name = "las",
		.text = "least attained time first, in three queues",
		.source = "Tiresias (NSDI 2019), its simulator's \"dlas\"",
		.order = &order_las,
		.place = &place_count,
	},
	{
		.name = "2d-las",
		.text = "least attained GPU time first, in three queues",
		.source = "Tiresias (NSDI 2019) 3.2, its simulator's \"dlas-gpu\"",
		.order = &order_las_2d,
		.place = &place_count,
	},
	{
		.name = "2d-gittins",
		.text = "in three queues by GPU time, highest Gittins index first",
		.source =
			"Tiresias (NSDI 2019) 3.2, its simulator's \"dlas-gpu-gittins\"",
		.order = &order_gittins_2d,
		.place = &place_count,
	},
	{
		.name = "tiresias",
		.text = "least attained GPU time first, in three queues; jobs of skewed "
			"models on as few nodes as can be",
		.source = "Tiresias (NSDI 2019) 3.2 and 3.3",
		.order = &order_las_2d,
		.place = &place_skew,
	},
	{
		.name = "muri-s",
		.text = "least remaining GPU time first; jobs whose stages fit take turns "
			"on the same GPUs",
		.source = "Muri (SIGCOMM 2022), its simulator's "
			  "\"multi-resource-blossom-same-gpu\"",
		.planner = &planner_interleave_srsf,
	},
	{
		.name = "muri-l",
		.text = "least attained GPU time first; jobs whose stages fit take turns "
			"on the same GPUs",
		.source = "Muri (SIGCOMM 2022), its simulator's "
			  "\"multi-resource-blossom-same-gpu-unaware\"",
		.planner = &planner_interleave_las,
	},
	{
		.name = "qssf",
		.text = "least predicted GPU time first, on as few nodes as can be; nobody "
			"is stopped or passed",
		.source = "Helios (SC 2021), as the simulator of Lucid has it",
		.keep = POL_KEEP_ALL,
		.order = &order_predicted,
		.place = &place_best_fit,
		.params =
			(const struct pol_param[]){
				{ .name = "best-fit.waits", .value = 1 }, { 0 } },
	},
	{
		.name = "blox",
		.text = "as they came, let in while there is not too much load, in rounds",
		.source =
			"Blox (EuroSys 2024), its code: FIFO with admission by load and "
			"its consolidated placement",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_ALL,
		.round_s = 300,
		.admit = &admit_load,
		.order = &order_fifo,
		.place = &place_best_fit,
	},
	{
		.name = "gandiva-fair",
		.text = "the same time for each, whatever its size, in rounds",
		.source =
			"Gandiva-Fair (EuroSys 2020), as Shockwave's simulator has it",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 60,
		.order = &order_share_equal,
		.place = &place_count,
		.params = half_a_minute,
	},
	{
		.name = "themis",
		.text = "leases; who is worst off against a cluster of its own is served "
			"first",
		.source = "Themis (NSDI 2020): its auction, with honest bids",
		.drive = POL_LEASES,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 1200,
		.order = &order_rho,
		.place = &place_best_fit,
	},
	{
		.name = "random",
		.text = "served as by themis, on nodes that are drawn",
		.source =
			"CASSINI (NSDI 2024), its random placement; the order is ours",
		.drive = POL_LEASES,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 1200,
		.order = &order_rho,
		.place = &place_random,
	},
	{
		.name = "gavel-max-min",
		.text = "the same GPU time for each, in rounds",
		.source = "Gavel (OSDI 2020), its max_min_fairness (LAS)",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 360,
		.order = &order_share_max_min,
		.place = &place_count,
	},
	{
		.name = "gavel-ftf",
		.text = "the same delay for each against a cluster of its own, in rounds",
		.source = "Themis (NSDI 2020), as Gavel's finish_time_fairness has it",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 360,
		.order = &order_share_finish_time,
		.place = &place_count,
	},
	{
		.name = "themis-lp",
		.text = "the same delay for each against a cluster of its own, at each event",
		.source = "Themis (NSDI 2020), as Muri's simulator has it",
		.keep = POL_KEEP_CHOSEN,
		.order = &order_share_finish_time,
		.place = &place_whole,
		.params = at_once,
	},
	{
		.name = "gavel-makespan",
		.text = "all are done as early as can be, in rounds",
		.source = "Gavel (OSDI 2020), its min_total_duration",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 360,
		.order = &order_share_makespan,
		.place = &place_count,
	},
	{
		.name = "gavel-throughput",
		.text = "most work is done, in rounds",
		.source = "Gavel (OSDI 2020), its max_sum_throughput",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 360,
		.order = &order_share_throughput,
		.place = &place_count,
	},
	{
		.name = "tiresias-rounds",
		.text = "least attained GPU time first, in two queues, every minute",
		.source = "Tiresias (NSDI 2019), as in Pollux's simulator",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_PLACE,
		.round_s = 60,
		.restart_s = 30,
		.order = &order_las_2d,
		.place = &place_spread,
		.params = tiresias_rounds,
	},
	{
		.name = "optimus",
		.text = "GPUs go where they take most off the remaining time",
		.source = "Optimus (EuroSys 2018), as in Pollux's simulator",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_PLACE,
		.round_s = 60,
		.restart_s = 30,
		.order = &order_fifo_backfill,
		.size = &size_time,
		.place = &place_spread,
	},
	{
		.name = "slaq",
		.text = "GPUs go where they take most off the loss",
		.source = "SLAQ (SoCC 2017)",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_PLACE,
		.round_s = 60,
		.restart_s = 30,
		.order = &order_fifo_backfill,
		.size = &size_loss,
		.place = &place_count,
	},
	{
		.name = "allox",
		.text = "jobs to GPUs by the assignment of the least completion times, "
			"in rounds",
		.source = "AlloX (EuroSys 2020), as Gavel's simulator has it",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 360,
		.order = &order_share_assigned,
		.place = &place_count,
	},
	{
		.name = "gandiva",
		.text = "time slices, least served first; pairs that pay share GPUs",
		.source = "Gandiva (OSDI 2018), packing as Gavel's simulator has it",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_PLACE,
		.round_s = 60,
		.planner = &planner_pack,
	},
	{
		.name = "antman",
		.text = "guaranteed jobs as they came; others are guests on what those "
			"leave of their GPUs",
		.source = "AntMan (OSDI 2020), as Muri's simulator has it (\"antman\")",
		.keep = POL_KEEP_ALL,
		.planner = &planner_guests,
	},
	{
		.name = "lucid",
		.text = "jobs are looked at apart; then least predicted GPU time first, "
			"in pairs that hardly feel each other",
		.source = "Lucid (ASPLOS 2023), the code of its simulator",
		.keep = POL_KEEP_PLACE,
		.planner = &planner_profile,
	},
	{
		.name = "synergy",
		.text = "as they came, in rounds, with as many CPUs as they can use",
		.source = "Synergy (OSDI 2022), the code of its simulator: TUNE",
		.drive = POL_ROUNDS,
		.round_s = 300,
		.planner = &planner_tune,
	},
	{
		.name = "pollux",
		.text = "as many GPUs for each as make all learn best, at a fair mean, by a "
			"genetic search",
		.source = "Pollux (OSDI 2021), its simulator",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_PLACE,
		.round_s = 60,
		.restart_s = 30,
		.adapts = true,
		.planner = &planner_goodput,
	},
	{ 0 },
};

const struct pol_place *const place_all[] = {
	&place_count, &place_whole, &place_best_fit, &place_spread, &place_random,
	&place_skew,  NULL
};

const struct pol_place *
place_find(const char *name)
{
	for (const struct pol_place *const *place = place_all; *place; place++)
		if (strcmp((*place)->module.name, name) == 0)
			return *place;
	return NULL;
}
