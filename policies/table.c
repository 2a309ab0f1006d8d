/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - the policies, a row each; and the placements. */
#include <string.h>

#include "policies/admits.h"
#include "policies/orders.h"
#include "policies/places.h"
#include "policies/planners.h"
#include "policies/policy.h"
#include "policies/sizes.h"

/* Two queues, each in order of arrival; the limit is 16 GPU hours. */
static const struct pol_param tiresias_rounds[] = {
	{ .name = "2d-las.limit0", .value = 57600 },
	{ .name = "2d-las.limit1", .value = 1e12 },
	{ .name = "2d-las.prefer_running", .value = 0 },
	{ 0 },
};

static const struct pol_param half_a_minute[] = {
	{ .name = "deficit.initial_credit_s", .value = 30 },
	{ 0 },
};

static const struct pol_param at_once[] = {
	{ .name = "deficit.recompute_s", .value = 0 },
	{ .name = "deficit.initial_credit_s", .value = 0 },
	{ .name = "deficit.since_arrival", .value = 1 },
	{ 0 },
};

const struct policy_spec policy_table[] = {
	{
		.name = "fifo",
		.text = "by arrival; a job that does not fit blocks those behind it",
		.source = "Tiresias's simulator (\"fifo\")",
		.keep = POL_KEEP_ALL,
		.order = &order_fifo,
		.place = &place_count,
	},
	{
		.name = "fifo-backfill",
		.text = "by arrival; a job that does not fit is skipped",
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
		.text = "longest waiting time first",
		.source = "Tiresias's simulator (\"lpjf\")",
		.keep = POL_KEEP_ALL,
		.order = &order_longest_pending,
		.place = &place_count,
	},
	{
		.name = "hrrn",
		.text = "highest response ratio first: (waiting + running time) / "
			"running time",
		.source = "Brinch Hansen, \"An analysis of response ratio scheduling\" "
			  "(IFIP 1971)",
		.keep = POL_KEEP_ALL,
		.order = &order_hrrn,
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
		.source = "Tiresias (NSDI 2019) 3.2, its simulator's "
			  "\"dlas-gpu-gittins\"",
		.order = &order_gittins_2d,
		.place = &place_count,
	},
	{
		.name = "tiresias",
		.text = "least attained GPU time first, in three queues; jobs of "
			"skewed models on as few nodes as possible",
		.source = "Tiresias (NSDI 2019) 3.2 and 3.3",
		.order = &order_las_2d,
		.place = &place_skew,
	},
	{
		.name = "muri-s",
		.text = "least remaining GPU time first; jobs whose stages interleave "
			"well share GPUs",
		.source = "Muri (SIGCOMM 2022), its simulator's "
			  "\"multi-resource-blossom-same-gpu\"",
		.planner = &planner_muri_srsf,
	},
	{
		.name = "muri-l",
		.text = "least attained GPU time first; jobs whose stages interleave "
			"well share GPUs",
		.source = "Muri (SIGCOMM 2022), its simulator's "
			  "\"multi-resource-blossom-same-gpu-unaware\"",
		.planner = &planner_muri_las,
	},
	{
		.name = "qssf",
		.text = "least predicted GPU time first, on as few nodes as possible; "
			"no preemption, no backfilling",
		.source = "Helios (SC 2021), as the simulator of Lucid has it",
		.keep = POL_KEEP_ALL,
		.order = &order_predicted,
		.place = &place_best_fit,
		.params =
			(const struct pol_param[]){
				{ .name = "best-fit.wait_consolidated", .value = 1 },
				{ 0 } },
	},
	{
		.name = "blox",
		.text = "by arrival, in rounds; jobs are admitted while the load is "
			"below a limit",
		.source = "Blox (EuroSys 2024), its code: FIFO with admission by load "
			  "and "
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
		.text = "equal time for each job, whatever its size, in rounds",
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
		.text = "leases; the job with the largest finish-time fairness rho is "
			"served first",
		.source = "Themis (NSDI 2020): its auction, with honest bids",
		.drive = POL_LEASES,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 1200,
		.order = &order_themis,
		.place = &place_best_fit,
	},
	{
		.name = "astraea",
		.text = "leases; the user, then its job, with the least GPU time over "
			"what it deserved",
		.source = "Astraea (TPDS 2021), the code of its simulator",
		.drive = POL_LEASES,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 900,
		.restart_s = 25,
		.order = &order_astraea,
		.place = &place_best_fit,
	},
	{
		.name = "random",
		.text = "order of themis, on random nodes",
		.source =
			"CASSINI (NSDI 2024), its random placement; the order is ours",
		.drive = POL_LEASES,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 1200,
		.order = &order_themis,
		.place = &place_random,
	},
	{
		.name = "gavel-max-min",
		.text = "equal GPU time for each job, in rounds",
		.source = "Gavel (OSDI 2020), its max_min_fairness (LAS)",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 360,
		.order = &order_share_max_min,
		.place = &place_count,
	},
	{
		.name = "gavel-ftf",
		.text = "equal finish-time fairness rho for each job, in rounds",
		.source = "Themis (NSDI 2020), as Gavel's finish_time_fairness has it",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 360,
		.order = &order_share_finish_time,
		.place = &place_count,
	},
	{
		.name = "themis-lp",
		.text = "equal finish-time fairness rho for each job, at each event",
		.source = "Themis (NSDI 2020), as Muri's simulator has it",
		.keep = POL_KEEP_CHOSEN,
		.order = &order_share_finish_time,
		.place = &place_whole,
		.params = at_once,
	},
	{
		.name = "gavel-makespan",
		.text = "least makespan, in rounds",
		.source = "Gavel (OSDI 2020), its min_total_duration",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 360,
		.order = &order_share_makespan,
		.place = &place_count,
	},
	{
		.name = "gavel-throughput",
		.text = "largest total throughput, in rounds",
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
		.text = "each GPU goes to the job whose remaining time it reduces most",
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
		.text = "each GPU goes to the job whose training loss it reduces most",
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
		.text = "assignment of jobs to GPU types with the least mean "
			"completion time, in rounds",
		.source = "AlloX (EuroSys 2020), as Gavel's simulator has it",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 360,
		.order = &order_share_assigned,
		.place = &place_count,
	},
	{
		.name = "shockwave",
		.text = "plans of 20 rounds: largest log utility of progress, small "
			"makespan, finish-time fairness",
		.source = "Shockwave (NSDI 2023), the code of its simulator",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_CHOSEN,
		.round_s = 120,
		.order = &order_shockwave,
		.place = &place_count,
	},
	{
		.name = "gandiva",
		.text = "time slices, least served first; pairs share GPUs where that "
			"raises throughput",
		.source = "Gandiva (OSDI 2018), packing as Gavel's simulator has it",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_PLACE,
		.round_s = 60,
		.planner = &planner_gandiva,
	},
	{
		.name = "antman",
		.text = "guaranteed jobs by arrival; opportunistic jobs use what "
			"these leave of their GPUs",
		.source = "AntMan (OSDI 2020), as Muri's simulator has it (\"antman\")",
		.keep = POL_KEEP_ALL,
		.planner = &planner_antman,
	},
	{
		.name = "lucid",
		.text = "jobs are profiled on nodes set apart; then least predicted "
			"GPU time first, in pairs with little interference",
		.source = "Lucid (ASPLOS 2023), the code of its simulator",
		.keep = POL_KEEP_PLACE,
		.planner = &planner_lucid,
	},
	{
		.name = "mapa",
		.text = "by arrival; the GPUs of a server whose links suit the job "
			"best",
		.source = "MAPA (SC 2021), the rules of its simulator",
		.keep = POL_KEEP_ALL,
		.order = &order_fifo,
		.place = &place_mapa,
	},
	{
		.name = "topo-aware",
		.text = "new jobs before postponed ones; each on the GPUs of largest "
			"utility",
		.source = "Topology-aware GPU scheduling (Amaral et al., SC 2017), the "
			  "code of its simulator",
		.keep = POL_KEEP_ALL,
		.planner = &planner_topo_aware,
	},
	{
		.name = "synergy",
		.text = "by arrival, in rounds, with as many CPUs as jobs can use",
		.source = "Synergy (OSDI 2022), the code of its simulator: TUNE",
		.drive = POL_ROUNDS,
		.round_s = 300,
		.planner = &planner_synergy,
	},
	{
		.name = "iadeep",
		.text = "by arrival; jobs of one GPU get an idle one, or share one with the "
			"least predicted interference",
		.source = "IADeep (SC 2023), the code of its scheduler",
		.keep = POL_KEEP_ALL,
		.planner = &planner_iadeep,
	},
	{
		.name = "kube-knots",
		.text = "largest memory first; jobs of one GPU share one in use if they do "
			"not peak together, else get an idle one",
		.source = "Kube-Knots (CLUSTER 2019): CBP and PP",
		.keep = POL_KEEP_ALL,
		.planner = &planner_knots,
	},
	{
		.name = "singularity",
		.text = "highest tier first; jobs of lower tiers run several ranks on a "
			"GPU before any job is stopped",
		.source = "Singularity (arXiv 2022); its rule is reduced",
		.keep = POL_KEEP_PLACE,
		.order = &order_tier,
		.size = &size_ranks,
		.place = &place_best_fit,
	},
	{
		.name = "pollux",
		.text = "numbers of GPUs with the largest fair mean of goodput, by a "
			"genetic search",
		.source = "Pollux (OSDI 2021), its simulator",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_PLACE,
		.round_s = 60,
		.restart_s = 30,
		.adapts = true,
		.planner = &planner_goodput,
	},
	{
		.name = "sia",
		.text = "types and numbers of GPUs with the largest fair sum of "
			"goodputs, in rounds",
		.source = "Sia (SOSP 2023), its simulator",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_PLACE,
		.round_s = 60,
		.restart_s = 30,
		.adapts = true,
		.planner = &planner_sia,
	},
	{
		.name = "heet",
		.text = "types and numbers of GPUs by prices of waiting and of "
			"imperfect scaling, in rounds",
		.source = "Heet (ASPLOS 2024); its price is ours",
		.drive = POL_ROUNDS,
		.keep = POL_KEEP_PLACE,
		.round_s = 60,
		.restart_s = 30,
		.planner = &planner_heet,
	},
	{
		.name = "lyra",
		.text = "shortest first on training servers and on those that inference "
			"lends; elastic jobs grow where that saves most time",
		.source = "Lyra (EuroSys 2023); the load of inference is synthetic",
		.keep = POL_KEEP_PLACE,
		.planner = &planner_lyra,
	},
	{
		.name = "hived",
		.text = "virtual clusters that own cells of near GPUs; opportunistic "
			"jobs use what these leave",
		.source = "HiveD (OSDI 2020), its code (hivedscheduler)",
		.planner = &planner_hived,
	},
	{
		.name = "mast",
		.text = "highest priority first, then within quota; each job in the "
			"best cluster of the region that has its data",
		.source = "MAST (OSDI 2024); its rule is reduced",
		.planner = &planner_mast,
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
