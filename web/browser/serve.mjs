// SPDX-License-Identifier: Apache-2.0
// serve.mjs - stands for antiphase-scheduler with documents that a test made up: large
// fabrics and hostile names.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
const POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// docs: answers by path, without a query; 'ticks' are sent to listeners, one every
// 'tick_ms'.  Resolves to {url, close}.
export function serve(dist, docs, ticks, tick_ms = 1000) {
	const timers = new Set();
	const server = createServer((request, reply) => {
		const path = decodeURIComponent(request.url.split("?")[0]);
		const file = path === "/" ? "index.html" : path.slice(1);
		if (/^(index\.html|app\.(js|css)|icon\.svg)$/.test(file)) {
			reply.writeHead(200, { "Content-Type": TYPES[file.split(".").pop()], "Content-Security-Policy": POLICY });
			return reply.end(readFileSync(join(dist, file)));
		}
		if (path === "/api/v1/events") {
			let i = 0;
			reply.writeHead(200, { "Content-Type": "text/event-stream" });
			reply.write(`event: hello\ndata: ${JSON.stringify(ticks[0])}\n\n`);
			const timer = setInterval(() => reply.write(`event: tick\ndata: ${JSON.stringify(ticks[++i % ticks.length])}\n\n`), tick_ms);
			timers.add(timer);
			return request.on("close", () => clearInterval(timer));
		}
		const doc = docs[path];
		reply.writeHead(doc ? 200 : 404, { "Content-Type": "application/json" });
		return reply.end(JSON.stringify(doc ?? { error: { code: "not_found", message: "nothing here", hint: "" } }));
	});
	return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve({
		url: `http://127.0.0.1:${server.address().port}/`,
		close: () => {
			for (const timer of timers) clearInterval(timer);
			server.closeAllConnections();
			server.close();
		},
	})));
}

// antiphase.links/1 about these links: [{name, gbps, now, jobs: [names]}].
export function linksDoc(links, at_us = Date.now() * 1000) {
	const history = Array.from({ length: 60 }, (_, i) => (i % 20 < 10 ? 1e9 : 0));
	return { schema: "antiphase.links/1", at_us, window_us: 1e7, data_age_us: 100000, is_simulated: true, has_fabric: true, hosts: [], hosts_left_out: 0, left_out: 0, next_after: null,
		links: links.map(({ name, gbps, now, jobs }) => ({ link: name, basis: "computed", is_up: true, from_tier: 0, to_tier: 1, capacity_bps: gbps * 1e9,
			now_bps: now, mean_bps: now, peak_bps: now * 1.2, other_bps: 0, over_ratio: jobs.length > 1 ? 0.5 : 0, queue_bytes: null, total_retransmits: null, total_ce: null,
			known_us: 1e7, since_us: null,
			jobs: jobs.map((job) => ({ job, now_bps: now / jobs.length, mean_bps: now / jobs.length, peak_bps: now, alone_bps: null, overlap_bps: null, active_us: 5e6, overlap_us: 1e6, history_bps: history })),
			pairs: jobs.length > 1 ? [{ jobs: jobs.slice(0, 2), overlap_us: 1e6, over_us: 1e6, overlap_us_per_iteration: [null, null] }] : [],
			history_bps: history.map((v) => v * jobs.length) })) };
}
