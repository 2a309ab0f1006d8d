/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simgrid_flows.cpp - a run of a flow scenario (sim/run/flow_scenario.h) in SimGrid
 *
 *	simgrid_flows FILE.scn ITERATIONS [ENDS.csv] [--cfg=...]
 *
 * Prints "flows cpu_s peak_rss_kb", like flows_one for our engine.  It uses the s4u
 * interface with one actor per job; its own network zone gives each pair of hosts the
 * flow's explicit path; latency 0 gives all flows equal weight.  With ENDS.csv it also
 * writes "job,iter,end_s".  simulator.sh has SimGrid's exact and fastest settings.
 */
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <unordered_map>
#include <vector>

#include <simgrid/kernel/routing/NetPoint.hpp>
#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/s4u.hpp>

namespace sg4 = simgrid::s4u;
using simgrid::kernel::resource::StandardLinkImpl;
using simgrid::kernel::routing::NetPoint;
using simgrid::kernel::routing::NetZoneImpl;
using simgrid::kernel::routing::Route;

/* A zone that knows the path of each pair of hosts. */
class PathZone : public NetZoneImpl {
	std::unordered_map<unsigned long, std::vector<StandardLinkImpl *>> paths_;

	static unsigned long
	key(const NetPoint *src, const NetPoint *dst)
	{
		return (src->id() << 32) | dst->id();
	}

public:
	explicit PathZone(const std::string &name) : NetZoneImpl(name)
	{
	}

	void
	set_path(const sg4::Host *src, const sg4::Host *dst,
		 const std::vector<StandardLinkImpl *> &links)
	{
		paths_[key(src->get_netpoint(), dst->get_netpoint())] = links;
	}

	void
	get_local_route(const NetPoint *src, const NetPoint *dst, Route *into,
			double *latency) override
	{
		const auto &links = paths_.at(key(src, dst));

		into->link_list_.insert(into->link_list_.end(), links.begin(), links.end());
		(void)latency; /* Zero. */
	}

	void
	get_graph(const s_xbt_graph_t *, std::map<std::string, xbt_node_t, std::less<>> *,
		  std::map<std::string, xbt_edge_t, std::less<>> *) override
	{
	}
};

struct Flow {
	sg4::Host *src, *dst;
	uint64_t bytes;
};

struct Job {
	long n_iterations;
	double shift_s, compute_s;
	std::vector<Flow> flows;
	std::vector<double> ends_s;
};

static std::vector<Job> jobs;
static unsigned long n_flows_finished;

static void
run_job(Job *job)
{
	sg4::this_actor::sleep_for(job->shift_s);
	for (long i = 0; i < job->n_iterations; i++) {
		std::vector<sg4::CommPtr> comms;

		sg4::this_actor::sleep_for(job->compute_s);
		comms.reserve(job->flows.size());
		for (const Flow &flow : job->flows)
			comms.push_back(
				sg4::Comm::sendto_async(flow.src, flow.dst, flow.bytes));
		for (const sg4::CommPtr &comm : comms)
			comm->wait();
		n_flows_finished += job->flows.size();
		job->ends_s.push_back(sg4::Engine::get_clock());
	}
}

/* Only for valid scenario files: it does not check them. */
static void
read_scenario(const char *path, long max_iterations, PathZone *zone)
{
	std::ifstream in(path);
	std::string word, name;
	std::vector<sg4::Host *> hosts;
	std::vector<sg4::Link *> links;
	size_t n, id;

	in >> word >> n >> word >> n;
	for (size_t i = 0; i < n; i++)
		hosts.push_back(zone->create_host("h" + std::to_string(i), { 1e9 }));
	in >> word >> n;
	for (size_t i = 0; i < n; i++) {
		double bytes_per_s;

		in >> word >> id >> bytes_per_s >> name;
		links.push_back(zone->create_link(name, { bytes_per_s }));
		links.back()->set_latency(0);
		links.back()->seal();
	}
	in >> word >> n;
	jobs.resize(n);
	for (Job &job : jobs) {
		double shift_ns, compute_ns;
		size_t n_flows;

		in >> word >> id >> job.n_iterations >> shift_ns >> compute_ns >> n_flows;
		job.n_iterations = std::min(job.n_iterations, max_iterations);
		job.shift_s = shift_ns / 1e9;
		job.compute_s = compute_ns / 1e9;
		for (size_t f = 0; f < n_flows; f++) {
			size_t src, dst, n_links;
			uint64_t bytes;
			std::vector<StandardLinkImpl *> path_links;

			in >> word >> src >> dst >> bytes >> n_links;
			for (size_t l = 0; l < n_links; l++) {
				in >> id;
				path_links.push_back(links.at(id)->get_impl());
			}
			zone->set_path(hosts.at(src), hosts.at(dst), path_links);
			job.flows.push_back({ hosts.at(src), hosts.at(dst), bytes });
		}
	}
	if (!in)
		throw std::runtime_error("not a flow scenario");
}

static double
cpu_s()
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int
main(int argc, char **argv)
{
	sg4::Engine engine(&argc, argv); /* Takes the --cfg arguments. */
	struct rusage usage;
	double before_s;

	if (argc < 3) {
		fprintf(stderr, "usage: simgrid_flows FILE.scn ITERATIONS [ENDS.csv]\n");
		return 2;
	}
	auto *zone = new PathZone("fabric"); /* The engine owns it. */
	read_scenario(argv[1], atol(argv[2]), zone);
	zone->get_iface()->seal();
	for (size_t j = 0; j < jobs.size(); j++)
		sg4::Actor::create("job" + std::to_string(j),
				   jobs[j].flows.empty() ? engine.get_all_hosts().front()
							 : jobs[j].flows.front().src,
				   run_job, &jobs[j]);
	before_s = cpu_s();
	engine.run();
	before_s = cpu_s() - before_s;
	getrusage(RUSAGE_SELF, &usage);
	printf("%lu %.6f %ld\n", n_flows_finished, before_s, usage.ru_maxrss);
	if (argc > 3) {
		FILE *out = fopen(argv[3], "w");

		for (size_t j = 0; out && j < jobs.size(); j++)
			for (size_t i = 0; i < jobs[j].ends_s.size(); i++)
				fprintf(out, "%zu,%zu,%.9f\n", j, i, jobs[j].ends_s[i]);
		if (!out || fclose(out))
			return 1;
	}
	return 0;
}
