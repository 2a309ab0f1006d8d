// SPDX-License-Identifier: Apache-2.0
// serve.mjs - stands for antiphase-scheduler, or for 'antiphase web', with documents that
// a test made up: large fabrics, hostile names, a recording.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
const POLICY = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// docs: answers by path, without a query; a function gets the query.  'ticks' are sent to
// listeners, one every 'tick_ms'.  'block' is what 'antiphase web' puts into the page;
// answers come after 'delay_ms'.  Resolves to {url, paths, most, close}: the paths that
// were asked for, and the most requests at once.
export function serve(dist, docs, ticks, { tick_ms = 1000, block = null, delay_ms = 0 } = {}) {
	const timers = new Set(), seen = { paths: new Set(), most: 0 };
	let n = 0;
	const server = createServer((request, reply) => {
		const { pathname, searchParams } = new URL(request.url, "http://localhost");
		const path = decodeURIComponent(pathname), file = path === "/" ? "index.html" : path.slice(1);
		if (/^(index\.html|app\.(js|css)|icon\.svg)$/.test(file)) {
			const text = readFileSync(join(dist, file));
			reply.writeHead(200, { "Content-Type": TYPES[file.split(".").pop()], "Content-Security-Policy": POLICY });
			return reply.end(block && file === "index.html" ? withBlock(text.toString(), block) : text);
		}
		seen.paths.add(path);
		if (path === "/api/v1/events" && ticks) {
			let i = 0;
			reply.writeHead(200, { "Content-Type": "text/event-stream" });
			reply.write(`event: hello\ndata: ${JSON.stringify(ticks[0])}\n\n`);
			const timer = setInterval(() => reply.write(`event: tick\ndata: ${JSON.stringify(ticks[++i % ticks.length])}\n\n`), tick_ms);
			timers.add(timer);
			return request.on("close", () => clearInterval(timer));
		}
		seen.most = Math.max(seen.most, ++n);
		const doc = typeof docs[path] === "function" ? docs[path](searchParams) : docs[path];
		return setTimeout(() => {
			n--;
			reply.writeHead(doc ? 200 : 404, { "Content-Type": "application/json" });
			reply.end(doc && doc.text ? doc.text : JSON.stringify(doc ?? { error: { code: "not_found", message: "nothing here", hint: "" } }));
		}, delay_ms);
	});
	return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(Object.assign(seen, {
		url: `http://127.0.0.1:${server.address().port}/`,
		close: () => {
			for (const timer of timers) clearInterval(timer);
			server.closeAllConnections();
			server.close();
		},
	}))));
}

const withBlock = (html, block) => html.replace('<div id="app">',
	() => `<script id="viewer" type="application/json">${JSON.stringify(block).replaceAll("<", "\\u003c")}</script><div id="app">`);

// What 'antiphase web' answers for a recording of 'n' seconds with the links and jobs of
// 'top': {block, docs, states}.  The links' figures change every second.
export function recordingDocs(top, topology, n) {
	const end_us = 1795227480000000, begin_us = end_us - n * 1e6;
	const share = (i, k) => ((i + k) % 10) / 10;
	const state = (at_us) => ({ ...top, at_us, links: top.links.map((link, i) => ({ ...link, now_bps: link.capacity_bps * share(i, Math.floor((at_us - begin_us) / 1e6)) })) });
	const history = { schema: "antiphase.link_history/2", from_us: begin_us, step_us: 1e6, left_out: 0,
		links: top.links.map((link, i) => ({ link: link.link, capacity_bps: link.capacity_bps, contended_us: 1e6, permille: Array.from({ length: n }, (_, k) => 1000 * share(i, k)) })) };
	const docs = { "/api/v1/topology": topology, "/api/v1/history": history, "/api/v1/top": (query) => state(Number(query.get("at_us") ?? end_us)) };
	for (const link of top.links) {
		docs[`/api/v1/links/${link.link}/series`] = { schema: "antiphase.link_series/1", link: link.link, basis: link.basis, capacity_bps: link.capacity_bps,
			from_us: begin_us, step_us: 1000, jobs: link.jobs.map(({ job, history_bps }) => ({ job, history_bps })), history_bps: link.history_bps };
		docs[`/api/v1/links/${link.link}/circle`] = { schema: "antiphase.circle/1", link: link.link, capacity_bps: link.capacity_bps,
			jobs: top.jobs.filter((job) => job.links.includes(link.link)).map((job) => ({ job: job.job, period_us: job.period_us, shift_us: null, factor: 1, phases: job.phases })) };
	}
	return { block: { schema: "antiphase.viewer/1", source: "day.tele", is_recording: true, has_fabric: true, begin_us, end_us }, docs, state };
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
