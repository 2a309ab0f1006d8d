/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ns3_flows.cpp - a run of a flow scenario (sim/run/flow_scenario.h) in ns-3, by packets
 *
 *	ns3_flows FILE.scn ITERATIONS [--option=value ...]
 *
 * Prints "job,iter,end_time_s" like 'antiphase sim flows', then for each job
 * "job,ecn,packets,marked": data packets that its receivers got, and those of them with
 * an ECN mark.  --help lists the options.
 *
 * Each flow is one TCP connection with DCTCP, set up once and kept for all iterations,
 * so its window and its estimate of marks carry over.  Before the scenario begins, each
 * flow sends 'warm' bytes alone, as connections of jobs that have run for a while.  A
 * flow ends when its receiver has all bytes.
 *
 * Nodes follow from the paths: the head of a link is the tail of the next one.  Two
 * links with exchanged ends and equal rates form a cable, whose two directions carry
 * data of one and acknowledgments of the other; a link without such a partner gets a
 * return direction of its own rate.  A host's own interface, the first link of a path,
 * queues without marks; all other queues mark above a threshold.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

using namespace ns3;

struct Options {
	uint32_t mss = 4000, window = 256000, mark = 100000;
	double delay_us = 1, noise_us = 10;
	uint32_t seed = 1;
	uint64_t warm = 12500000;
};

struct Link {
	uint64_t bytes_per_s;
	uint32_t tail, head; /* Nodes. */
	bool is_used, is_first;
	Ptr<NetDevice> device; /* The one that sends into it. */
};

struct Job;

struct Flow {
	Job *job;
	uint32_t src, dst;
	uint64_t bytes, to_send = 0, to_get = 0;
	std::vector<uint32_t> path;
	Ptr<Socket> sender;
};

struct Job {
	uint32_t id;
	long n_iterations;
	double shift_s, compute_s;
	std::vector<Flow> flows;
	std::vector<double> ends_s;
	size_t n_running = 0;
	uint64_t n_packets = 0, n_marked = 0;
};

static Options options;
static std::vector<Link> links;
static std::vector<Job> jobs;
static uint32_t n_nodes, n_hosts;
static size_t n_jobs_running;
static Ptr<UniformRandomVariable> noise;

/* ------ Paths: a protocol that forwards by the address of a flow's end ------ */

/* Flow number f sends from address 2 f + 1 to address 2 f + 2 of this net. */
#define FIRST_ADDRESS 0x0a000000u
#define PORT          5001

static Ipv4Address
sender_address(uint32_t flow)
{
	return Ipv4Address(FIRST_ADDRESS + 2 * flow + 1);
}

static Ipv4Address
receiver_address(uint32_t flow)
{
	return Ipv4Address(FIRST_ADDRESS + 2 * flow + 2);
}

class PathRouting : public Ipv4RoutingProtocol
{
	struct Hop {
		Ptr<Ipv4Route> route; /* NULL: the address is of this node. */
		Job *job;             /* Counts packets that end here, or NULL. */
	};

	std::unordered_map<uint32_t, Hop> hops_; /* By destination. */

      public:
	/* Packets from 'source' to 'destination' leave through 'device'. */
	void forward(Ipv4Address source, Ipv4Address destination, Ptr<NetDevice> device)
	{
		Ptr<Ipv4Route> route = Create<Ipv4Route>();

		route->SetSource(source);
		route->SetDestination(destination);
		route->SetGateway(destination);
		route->SetOutputDevice(device);
		if (!hops_.insert({ destination.Get(), { route, nullptr } }).second)
			throw std::runtime_error("a path visits a node twice");
	}

	void deliver(Ipv4Address destination, Job *job)
	{
		hops_[destination.Get()] = { nullptr, job };
	}

	Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header &header,
				   Ptr<NetDevice>, Socket::SocketErrno &error) override
	{
		auto hop = hops_.find(header.GetDestination().Get());

		error = hop == hops_.end() ? Socket::ERROR_NOROUTETOHOST
					   : Socket::ERROR_NOTERROR;
		return hop == hops_.end() ? nullptr : hop->second.route;
	}

	bool RouteInput(Ptr<const Packet> packet, const Ipv4Header &header,
			Ptr<const NetDevice>, UnicastForwardCallback forward_to,
			MulticastForwardCallback, LocalDeliverCallback deliver_to,
			ErrorCallback) override
	{
		const Hop &hop = hops_.at(header.GetDestination().Get());

		if (hop.route) {
			forward_to(hop.route, packet, header);
			return true;
		}
		if (hop.job) {
			hop.job->n_packets++;
			hop.job->n_marked += header.GetEcn() == Ipv4Header::ECN_CE;
		}
		deliver_to(packet, header, 1);
		return true;
	}

	void NotifyInterfaceUp(uint32_t) override
	{
	}

	void NotifyInterfaceDown(uint32_t) override
	{
	}

	void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override
	{
	}

	void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override
	{
	}

	void SetIpv4(Ptr<Ipv4>) override
	{
	}

	void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override
	{
	}
};

class PathRoutingHelper : public Ipv4RoutingHelper
{
      public:
	PathRoutingHelper *Copy() const override
	{
		return new PathRoutingHelper(*this);
	}

	Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override
	{
		return CreateObject<PathRouting>();
	}
};

static PathRouting &
routing_of(uint32_t node)
{
	Ptr<Ipv4> ip = NodeList::GetNode(node)->GetObject<Ipv4>();

	return *DynamicCast<PathRouting>(ip->GetRoutingProtocol());
}

/* ------ Reading ------ */

/* Only for valid scenario files: it does not check them. */
static void
read_scenario(const std::string &path, long max_iterations)
{
	std::ifstream in(path);
	std::string word, name;
	size_t n, id;

	in >> word >> n >> word >> n_hosts >> word >> n;
	links.resize(n);
	for (Link &link : links)
		in >> word >> id >> link.bytes_per_s >> name;
	in >> word >> n;
	jobs.resize(n);
	for (Job &job : jobs) {
		double shift_ns, compute_ns;

		in >> word >> job.id >> job.n_iterations >> shift_ns >> compute_ns >> n;
		job.n_iterations = std::min(job.n_iterations, max_iterations);
		job.shift_s = shift_ns / 1e9;
		job.compute_s = compute_ns / 1e9;
		job.flows.resize(n);
		for (Flow &flow : job.flows) {
			flow.job = &job;
			in >> word >> flow.src >> flow.dst >> flow.bytes >> n;
			flow.path.resize(n);
			for (uint32_t &link : flow.path)
				in >> link;
		}
	}
	if (!in)
		throw std::runtime_error(path + " is not a flow scenario");
}

/* ------ The fabric ------ */

static uint32_t
root(std::vector<uint32_t> &parent, uint32_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

/* Numbers the nodes.  Ends of links are one node if a path joins them. */
static void
find_nodes()
{
	std::vector<uint32_t> parent(n_hosts + 2 * links.size()),
		number(parent.size(), UINT32_MAX);
	auto join = [&](uint32_t a, uint32_t b) {
		parent[root(parent, a)] = root(parent, b);
	};
	auto tail = [&](uint32_t link) { return n_hosts + 2 * link; };
	auto node = [&](uint32_t end) {
		uint32_t &n = number[root(parent, end)];

		return n == UINT32_MAX ? n = n_nodes++ : n;
	};

	std::iota(parent.begin(), parent.end(), 0);
	for (Job &job : jobs)
		for (Flow &flow : job.flows) {
			if (flow.path.empty())
				continue;
			join(flow.src, tail(flow.path.front()));
			join(flow.dst, tail(flow.path.back()) + 1);
			for (size_t i = 0; i + 1 < flow.path.size(); i++)
				join(tail(flow.path[i]) + 1, tail(flow.path[i + 1]));
			for (uint32_t link : flow.path)
				links[link].is_used = true;
			links[flow.path.front()].is_first = true;
		}
	for (uint32_t l = 0; l < links.size(); l++)
		if (links[l].is_used) {
			links[l].tail = node(tail(l));
			links[l].head = node(tail(l) + 1);
		}
	for (Job &job : jobs)
		for (Flow &flow : job.flows) {
			flow.src = node(flow.src);
			flow.dst = node(flow.dst);
		}
}

/* The queue in front of a device; 'mark': above the threshold. */
static void
add_queue(Ptr<NetDevice> device, bool mark)
{
	TrafficControlHelper helper;
	Ptr<Ipv4> ip = device->GetNode()->GetObject<Ipv4>();
	uint32_t interface = ip->AddInterface(device);

	ip->SetMetric(interface, 1);
	ip->SetUp(interface);
	if (mark)
		helper.SetRootQueueDisc("ns3::RedQueueDisc");
	else
		helper.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize",
					StringValue("64000000B"));
	helper.Install(device);
}

/* Both directions of a cable; 'back' is NULL if no path uses the second. */
static void
add_cable(Link *link, Link *back)
{
	PointToPointHelper cable;
	NetDeviceContainer devices;

	cable.SetDeviceAttribute("DataRate",
				 DataRateValue(DataRate(link->bytes_per_s * 8)));
	cable.SetDeviceAttribute("Mtu", UintegerValue(options.mss + 100));
	cable.SetChannelAttribute(
		"Delay", TimeValue(NanoSeconds((int64_t)(options.delay_us * 1e3))));
	/* One packet in the device, all others in the queue that marks. */
	cable.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1p"));
	devices = cable.Install(NodeList::GetNode(link->tail),
				NodeList::GetNode(link->head));
	add_queue(devices.Get(0), !link->is_first);
	add_queue(devices.Get(1), back && !back->is_first);
	link->device = devices.Get(0);
	if (back)
		back->device = devices.Get(1);
}

/* The return direction of each link, for acknowledgments, by link. */
static std::vector<Ptr<NetDevice>>
build_fabric()
{
	std::vector<Ptr<NetDevice>> returns(links.size());
	std::vector<uint32_t> partner(links.size(), UINT32_MAX);
	InternetStackHelper stack;
	NodeContainer nodes;

	nodes.Create(n_nodes);
	stack.SetRoutingHelper(PathRoutingHelper());
	stack.SetIpv6StackInstall(false);
	stack.Install(nodes);
	for (uint32_t l = 0; l < links.size(); l++) {
		for (uint32_t b = l + 1;
		     links[l].is_used && partner[l] == UINT32_MAX && b < links.size();
		     b++)
			if (links[b].is_used && partner[b] == UINT32_MAX &&
			    links[b].tail == links[l].head &&
			    links[b].head == links[l].tail &&
			    links[b].bytes_per_s == links[l].bytes_per_s) {
				partner[l] = b;
				partner[b] = l;
			}
		if (links[l].is_used && !links[l].device)
			add_cable(&links[l], partner[l] == UINT32_MAX
						     ? nullptr
						     : &links[partner[l]]);
	}
	for (uint32_t l = 0; l < links.size(); l++)
		if (links[l].is_used) {
			Ptr<Channel> channel = links[l].device->GetChannel();
			Ptr<NetDevice> first = channel->GetDevice(0);

			returns[l] = first == links[l].device ? channel->GetDevice(1)
							      : first;
		}
	return returns;
}

/* ------ Flows and jobs ------ */

static void start_iteration(Job *job);

static void
end_flow(Flow *flow)
{
	Job *job = flow->job;

	if (--job->n_running)
		return;
	job->ends_s.push_back(Simulator::Now().GetSeconds());
	if ((long)job->ends_s.size() < job->n_iterations)
		start_iteration(job);
	else if (--n_jobs_running == 0)
		Simulator::Stop();
}

static void
push(Flow *flow)
{
	while (flow->to_send) {
		uint64_t room = flow->sender->GetTxAvailable();
		uint32_t n = (uint32_t)std::min(flow->to_send, room);
		int sent = n ? flow->sender->Send(Create<Packet>(n)) : 0;

		if (sent <= 0)
			return;
		flow->to_send -= (uint32_t)sent;
	}
}

static void
warm_up(Flow *flow)
{
	flow->to_send = flow->to_get = options.warm;
	push(flow);
}

static void
start_job(Job *job)
{
	job->n_packets = job->n_marked = 0; /* Of warming up. */
	start_iteration(job);
}

static void
start_flow(Flow *flow)
{
	if (flow->path.empty() || !flow->bytes) {
		end_flow(flow);
		return;
	}
	if (flow->to_get)
		throw std::runtime_error("a flow has not ended warming up");
	flow->to_send = flow->to_get = flow->bytes;
	push(flow);
}

static void
start_iteration(Job *job)
{
	job->n_running = job->flows.size();
	for (Flow &flow : job->flows)
		Simulator::Schedule(Seconds(job->compute_s + noise->GetValue() / 1e6),
				    start_flow, &flow);
}

static void
receive(Flow *flow, Ptr<Socket> socket)
{
	while (Ptr<Packet> packet = socket->Recv()) {
		flow->to_get -= packet->GetSize();
		if (!flow->to_get && flow->job->n_running)
			end_flow(flow);
	}
}

static void
accept(Flow *flow, Ptr<Socket> socket, const Address &)
{
	socket->SetRecvCallback(MakeBoundCallback(receive, flow));
}

static void
can_send(Flow *flow, Ptr<Socket>, uint32_t)
{
	push(flow);
}

static void
connect(Flow *flow, uint32_t number, const std::vector<Ptr<NetDevice>> &returns)
{
	Ipv4Address from = sender_address(number), to = receiver_address(number);
	TypeId tcp = TcpSocketFactory::GetTypeId();
	Ptr<Socket> listener;

	if (flow->path.empty())
		return;
	for (uint32_t l : flow->path) {
		routing_of(links[l].tail).forward(from, to, links[l].device);
		routing_of(links[l].head).forward(to, from, returns[l]);
	}
	routing_of(flow->dst).deliver(to, flow->job);
	routing_of(flow->src).deliver(from, nullptr);
	listener = Socket::CreateSocket(NodeList::GetNode(flow->dst), tcp);
	listener->Bind(InetSocketAddress(to, PORT));
	listener->SetAcceptCallback(
		MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
		MakeBoundCallback(accept, flow));
	listener->Listen();
	flow->sender = Socket::CreateSocket(NodeList::GetNode(flow->src), tcp);
	flow->sender->Bind(InetSocketAddress(from, PORT));
	flow->sender->SetSendCallback(MakeBoundCallback(can_send, flow));
	/* Devices have their queues when the run begins. */
	Simulator::ScheduleNow(
		[=] { flow->sender->Connect(InetSocketAddress(to, PORT)); });
}

/* DCTCP, and queues that mark each packet while they hold more than 'mark' bytes. */
static void
set_defaults()
{
	Config::SetDefault("ns3::TcpL4Protocol::SocketType",
			   StringValue("ns3::TcpDctcp"));
	Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(options.mss));
	Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
	Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(options.window));
	Config::SetDefault("ns3::TcpSocket::SndBufSize",
			   UintegerValue(4 * options.window));
	Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
	Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
	Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(10)));
	Config::SetDefault("ns3::RedQueueDisc::UseEcn", BooleanValue(true));
	Config::SetDefault("ns3::RedQueueDisc::UseHardDrop", BooleanValue(false));
	Config::SetDefault("ns3::RedQueueDisc::Gentle", BooleanValue(false));
	Config::SetDefault("ns3::RedQueueDisc::QW",
			   DoubleValue(1)); /* The queue of now. */
	Config::SetDefault("ns3::RedQueueDisc::MeanPktSize",
			   UintegerValue(options.mss));
	Config::SetDefault("ns3::RedQueueDisc::MaxSize", StringValue("64000000B"));
	Config::SetDefault("ns3::RedQueueDisc::MinTh", DoubleValue(options.mark));
	Config::SetDefault("ns3::RedQueueDisc::MaxTh", DoubleValue(options.mark));
}

/* Of the links on a flow's path, bytes per second. */
static double
slowest(const Flow &flow)
{
	double rate = INFINITY;

	for (uint32_t l : flow.path)
		rate = std::min(rate, (double)links[l].bytes_per_s);
	return rate;
}

static void
run()
{
	/* Connections are set up, and warmed up one by one, before the scenario's time 0. */
	double begin_s = 0.01;
	std::vector<Ptr<NetDevice>> returns = build_fabric();
	uint32_t number = 0;

	noise = CreateObject<UniformRandomVariable>();
	noise->SetAttribute("Max", DoubleValue(options.noise_us));
	n_jobs_running = jobs.size();
	for (Job &job : jobs)
		for (Flow &flow : job.flows) {
			connect(&flow, number++, returns);
			if (options.warm && !flow.path.empty()) {
				Simulator::Schedule(Seconds(begin_s), warm_up, &flow);
				begin_s += 0.001 +
					   1.1 * (double)options.warm / slowest(flow);
			}
		}
	for (Job &job : jobs)
		Simulator::Schedule(Seconds(begin_s + job.shift_s), start_job, &job);
	Simulator::Run();
	for (Job &job : jobs)
		for (size_t i = 0; i < job.ends_s.size(); i++)
			printf("%u,%zu,%.9f\n", job.id, i, job.ends_s[i] - begin_s);
	for (Job &job : jobs)
		printf("%u,ecn,%llu,%llu\n", job.id, (unsigned long long)job.n_packets,
		       (unsigned long long)job.n_marked);
}

int
main(int argc, char **argv)
{
	CommandLine cmd;
	std::string file;
	uint32_t n_iterations = 0;

	cmd.AddNonOption("FILE", "scenario of flows", file);
	cmd.AddNonOption("ITERATIONS", "at most that many of each job", n_iterations);
	cmd.AddValue("mss", "payload of a packet, bytes", options.mss);
	cmd.AddValue("window", "largest window of a connection, bytes", options.window);
	cmd.AddValue("mark", "queue above which packets are marked, bytes",
		     options.mark);
	cmd.AddValue("delay", "of each link, microseconds", options.delay_us);
	cmd.AddValue("noise", "largest delay of a flow's start, microseconds",
		     options.noise_us);
	cmd.AddValue("seed", "of that delay", options.seed);
	cmd.AddValue("warm", "sent by each flow alone before time 0, bytes",
		     options.warm);
	cmd.Parse(argc, argv);
	if (file.empty() || !n_iterations) {
		fprintf(stderr,
			"usage: ns3_flows FILE.scn ITERATIONS [--option=value ...]\n");
		return 2;
	}
	RngSeedManager::SetSeed(options.seed);
	try {
		read_scenario(file, n_iterations);
		find_nodes();
		set_defaults();
		run();
	} catch (const std::exception &e) {
		fprintf(stderr, "ns3_flows: %s\n", e.what());
		return 1;
	}
	Simulator::Destroy();
	return fflush(stdout) == 0 ? 0 : 1;
}
