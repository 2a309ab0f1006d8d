// SPDX-License-Identifier: Apache-2.0
// check.mjs BUILD OUT [PART...] - the page in a headless Chromium: against a scheduler with
// simulated telemetry, against hostile names, and as a report.  Prints PASS, FAIL and
// SKIP lines and their counts; screenshots go to OUT.  Parts: those of PARTS; all without.
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rate, percent } from "../src/format.js";
import { Browser } from "./cdp.mjs";
import { accessibility, agree, api, build, children, CHROMIUM, counts, dist, examples, folder, out, silence, startScheduler, verdict } from "./lab.mjs";
import { checkBus, checkMany, checkMeeting, checkPlayedReport, checkProgram, checkRecording } from "./player.mjs";
import { linksDoc, serve } from "./serve.mjs";
import { checkSimulation } from "./sim.mjs";

const LINK = "leaf0:p2>spine0:p0";
const HOSTILE = ["</script><script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>", "\"'><b onmouseover=1>", "=1+1", "ünïcödé \u202Eevil", "x".repeat(1024),
	"javascript:document.title='owned'", "{{constructor}}", "&lt;b&gt;"];

// ---- Live ---------------------------------------------------------------------------

const ROWS = "[...document.querySelectorAll('main tbody tr')].map((tr) => [...tr.cells].map((td) => td.innerText.trim()))";

async function checkLive(browser) {
	const url = await startScheduler(), page = await browser.open();
	await page.size(1280, 1000);
	await page.theme("light");
	await page.go(`${url}/`);
	await page.until("document.querySelectorAll('g.edge').length === 12 && document.querySelectorAll('main tbody tr').length === 4", "the map");
	const headers = (await fetch(`${url}/`)).headers;
	verdict(headers.get("content-security-policy")?.startsWith("default-src 'self'") && !headers.has("set-cookie"), "the page has a policy and no cookie");
	await agree(page, "the table of links is that of the API", async () => (await api(url, "links")).links.filter((l) => l.over_ratio > 0).map((l) =>
		[l.link, rate(l.capacity_bps), rate(l.now_bps), rate(l.peak_bps), percent(l.over_ratio)]), `${ROWS}.map((row) => row.slice(0, 5))`);
	await agree(page, "the colors of the map are those of the API", async () => Object.fromEntries((await api(url, "links?after=")).links.map((l) => {
		const [a, b] = l.link.split(">").map((end) => end.split(":")[0]);
		return [`${a}>${b}`, String(l.now_bps / l.capacity_bps)];
	}).sort()), "Object.fromEntries([...document.querySelectorAll('g.edge')].map((g) => [g.dataset.edge, g.dataset.use]).sort())");
	await views(page, url);
	await checkLink(page, url);
	await checkKeys(page);
	silence(page, url, "live");
	await checkStale(page);
}

async function views(page, url) {
	const wanted = { Fabric: "g.edge", "Over time": "svg.chart rect", Jobs: "main tbody tr", Advice: "main tbody tr", Health: "main tbody tr" };
	for (const [name, selector] of Object.entries(wanted)) {
		await page.eval(`[...document.querySelectorAll("nav a")].find((a) => a.innerText === ${JSON.stringify(name)}).click()`);
		await page.until(`document.querySelector("nav a[aria-current]")?.innerText === ${JSON.stringify(name)} && document.querySelector(${JSON.stringify(selector)}) !== null`, name);
		await accessibility(page, name);
		for (const theme of ["dark", "light"]) {
			await page.theme(theme);
			await page.until(`matchMedia("(prefers-color-scheme: ${theme})").matches`);
			await page.picture(join(out, `${name.toLowerCase().replace(" ", "-")}-${theme}.png`));
		}
		if (name === "Jobs")
			await agree(page, "jobs are those of the API", async () => (await api(url, "jobs")).jobs.map((j) => [j.job, String(j.hosts.length)]),
				"[...document.querySelector('main table').tBodies[0].rows].map((tr) => [tr.cells[0].innerText.trim(), tr.cells[1].innerText])");
		if (name === "Advice")
			await agree(page, "advice is that of the API", async () => (await api(url, "advice")).advice.map((a) => [a.job, a.reason]),
				"[...document.querySelector('main table').tBodies[0].rows].map((tr) => [tr.cells[0].innerText.trim(), tr.cells[1].innerText])");
	}
	for (const width of [80, 400, 4000]) {
		await page.size(width, 800);
		await page.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
		const over = await page.eval("document.documentElement.scrollWidth - innerWidth");
		verdict(over <= 0, `at ${width} pixels nothing is cut off at the side`, `${over} pixels too wide`);
	}
	await page.size(1280, 1000);
}

async function checkLink(page, url) {
	await page.eval(`location.hash = "#view=fabric"`);
	await page.until("document.querySelector('main a[data-row]') !== null");
	await page.eval(`[...document.querySelectorAll("main a[data-row]")].find((a) => a.innerText === ${JSON.stringify(LINK)}).click()`);
	await page.until("document.querySelector('.u-wrap canvas') && document.querySelectorAll('.circles svg.chart').length === 2", "the link");
	await accessibility(page, "Link");
	for (const theme of ["dark", "light"]) {
		await page.theme(theme);
		await page.picture(join(out, `link-${theme}.png`));
	}
	await agree(page, "the link's jobs are those of the API", async () => (await api(url, `links/${encodeURIComponent(LINK)}`)).links[0].jobs.map((j) => [j.job, rate(j.now_bps), rate(j.mean_bps), rate(j.peak_bps)]),
		`[...document.querySelector("section[aria-label='Jobs on this link'] tbody").rows].map((tr) => [...tr.cells].slice(0, 4).map((td) => td.innerText.trim()))`);
	await checkScore(page, url);
	await page.eval(`[...document.querySelectorAll("section[aria-label='Rate by job'] button")].find((b) => b.innerText === "as table").click()`);
	await page.until("document.querySelectorAll(\"section[aria-label='Rate by job'] tbody tr\").length >= 180", "the series as a table");
	verdict(true, "the series is there as a table");
}

// Profiles of a circle's jobs, and what 'antiphase compat' says of them.
function compat(circle) {
	const files = circle.jobs.map((job) => {
		const file = join(folder, `${job.job}.json`);
		writeFileSync(file, JSON.stringify({ schema: "antiphase.profiles/1", profiles: [{ job: job.job, period_us: job.period_us,
			phases: job.phases.map((p) => ({ start_us: p.start_us, duration_us: p.duration_us, gbps: p.rate_bps / 1e9 })) }] }));
		return file;
	});
	return JSON.parse(execFileSync(join(build, "antiphase"), ["compat", "--json", "--capacity-gbps", circle.capacity_bps / 1e9,
		"--factor", circle.jobs.map((job) => job.factor).join(","), ...files], { encoding: "utf8" }));
}

// The score that the page shows for the shifts of 'antiphase compat' is compat's score.
// The circle may change while they are compared: then they are compared again.
async function checkScore(page, url) {
	const slide = (i, us) => page.eval(`(() => { const s = document.querySelectorAll(".sliders input")[${i}]; s.step = 1; s.value = ${us};
		s.dispatchEvent(new Event("input", { bubbles: true })); return new Promise((done) => setTimeout(done, 100)); })()`);
	for (const what of ["without shifts", "with compat's shifts"]) {
		let got, score;
		for (let n = 0; n < 20; n++) {
			const answer = compat(await api(url, `links/${encodeURIComponent(LINK)}/circle`));
			const shifts = what === "without shifts" ? answer.jobs.map(() => 0) : answer.jobs.map((job) => job.shift_us);
			score = what === "without shifts" ? answer.score_unshifted : answer.score;
			for (const [i, us] of shifts.entries()) await slide(i, us);
			got = await page.eval("Number(document.querySelector('.score').dataset.score)");
			if (Math.abs(got - score) < 1e-8) break;
		}
		verdict(Math.abs(got - score) < 1e-8, `the score ${what} is that of antiphase compat`, `${got}, expected ${score}`);
	}
}

async function checkKeys(page) {
	await page.eval(`location.hash = "#view=fabric"`);
	await page.until("document.querySelector('main a[data-row]') !== null");
	await page.eval("document.activeElement.blur()");
	const focused = () => page.eval("document.activeElement.innerText");
	const names = await page.eval("[...document.querySelectorAll('main a[data-row]')].map((a) => a.innerText)");
	await page.key("j");
	await page.key("j");
	verdict(await focused() === names[1], "j goes to the next link");
	await page.key("k");
	verdict(await focused() === names[0], "k goes back");
	await page.key("?");
	await page.until("document.querySelector('dialog')?.open === true", "the keys");
	verdict(true, "? shows the keys");
	await page.click("dialog button");
	await page.until("document.querySelector('dialog') === null", "no keys");
	await page.key("/");
	verdict(await page.eval("document.activeElement.type === 'search'"), "/ goes to the search");
	await page.send("Input.insertText", { text: "spine0:p1>" });
	await page.until("document.querySelectorAll('.found a').length === 1", "what is found");
	await page.eval("document.querySelector('form.search').requestSubmit()");
	await page.until("new URLSearchParams(location.hash.slice(1)).get('link') === 'spine0:p1>leaf1:p2'", "the found link");
	verdict(true, "a link is found by a part of its name");
}

async function checkStale(page) {
	for (const child of children.splice(0)) child.kill("SIGKILL");
	await page.until("document.querySelector('.lamp.bad')?.innerText.includes('No answer')", "the page says that it is stale");
	verdict(await page.eval("document.querySelectorAll('main section').length > 0"), "a page without a server says so, and keeps its figures");
}

// ---- Hostile names ------------------------------------------------------------------

function hostileDocs() {
	const jobs = HOSTILE, links = HOSTILE.map((name, i) => ({ name: `${name}>${HOSTILE[(i + 1) % HOSTILE.length]}`, gbps: 100, now: 5e10, jobs: [jobs[i], jobs[(i + 1) % jobs.length]] }));
	const state = linksDoc(links);
	const job = (name) => ({ job: name, hosts: HOSTILE, period_us: 50000, jitter_us: 10, duty_ratio: 0.5, bytes_per_iteration: 1e6, iterations: 10, confidence: 0.9, window_us: 1, age_us: 1,
		has_changed: false, changed_at_us: null, period_before_us: null, why: name, trend_us: [50000, 50001], phases: [], links: links.map((l) => l.name) });
	const advice = (name) => ({ schema: "antiphase.job_advice/1", job: name, at_us: 0, valid_until_us: 0, is_waiting: false, is_advised: true, reason: name, text: name, remedy: name,
		evidence: { source: name, period_us: 1, iterations: 1, confidence: 1, hosts: 1, silent_hosts: 0, age_us: 1, why: name }, outcome: null, links: [] });
	return { state, docs: { "/api/v1/links": state, "/api/v1/jobs": { ...state, schema: "antiphase.jobs/1", jobs: jobs.map(job) },
		"/api/v1/advice": { schema: "antiphase.job_advices/1", at_us: 0, advice: jobs.map(advice) },
		"/api/v1/health": { schema: "antiphase.health/1", version: HOSTILE[0], bus: HOSTILE[1], host: HOSTILE[2], fabric_error: HOSTILE[0], is_ok: false, hosts: 1, silent_hosts: 0 } } };
}

async function checkHostile(browser) {
	const { state, docs } = hostileDocs();
	const server = await serve(dist, docs, [state]), page = await browser.open();
	await page.size(1280, 1000);
	await page.go(server.url);
	await page.until("document.querySelectorAll('main tbody tr').length > 5", "hostile links");
	for (const view of ["fabric", "heatmap", "jobs", "advice", "health", `job&job=${encodeURIComponent(HOSTILE[0])}`, `link&link=${encodeURIComponent(state.links[0].link)}`, `job&job=${encodeURIComponent(HOSTILE[1])}`]) {
		await page.eval(`location.hash = ${JSON.stringify(`#view=${view}`)}`);
		await page.eval("new Promise((done) => setTimeout(done, 300))");
	}
	const found = await page.eval("[document.querySelectorAll('main script, main img, main b[onmouseover]').length, document.title.startsWith('owned'), document.querySelectorAll('a[href^=javascript]').length, document.querySelector('h2').innerText]");
	verdict(found[0] === 0 && !found[1] && found[2] === 0 && found[3].includes(HOSTILE[1]), "hostile names are text", JSON.stringify(found));
	page.faults = page.faults.filter((fault) => !fault.includes("404")); // Documents that this server does not have.
	silence(page, server.url, "hostile names");
	server.close();
}

// ---- Large fabrics ------------------------------------------------------------------

// Frames a second while an event comes to the map in each.
function frames(page, event) {
	return page.eval(`new Promise((done) => { const target = document.querySelector("canvas.fabric") ?? document.querySelector(".map"); let n = 0;
		target.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true })); const begin = performance.now();
		const step = () => { if (++n === 120) { target.dispatchEvent(new PointerEvent("pointerleave")); target.parentElement.dispatchEvent(new PointerEvent("pointerleave")); return done(Math.round((1000 * n) / (performance.now() - begin))); }
			target.dispatchEvent(${event}); requestAnimationFrame(step); }; requestAnimationFrame(step); })`);
}

// Notes when the map is in the page, and when a frame has shown it.
const NOTE = `new MutationObserver((_, observer) => {
	if (!document.querySelector(".fabric")) return;
	observer.disconnect();
	window.map_ms = performance.now();
	requestAnimationFrame(() => requestAnimationFrame(() => { window.shown_ms = performance.now(); }));
}).observe(document, { childList: true, subtree: true })`;
const LOADS = 3;
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

// The times of a load by the page's own clock, the median of some loads.
async function loadTimes(browser, url) {
	const times = [];
	for (let i = 0; i < LOADS; i++) {
		const page = await browser.open({ isBare: true });
		await page.size(1280, 1000);
		await page.send("Page.addScriptToEvaluateOnNewDocument", { source: NOTE });
		await page.send("Performance.enable", { timeDomain: "threadTicks" });
		await page.go(url);
		// The browser tells of the first paint some time after it.
		await page.until("window.shown_ms > 0 && performance.getEntriesByName('first-contentful-paint').length > 0", "the map is shown");
		const { metrics } = await page.send("Performance.getMetrics");
		times.push({ cpu: 1000 * metrics.find((m) => m.name === "TaskDuration").value,
			...await page.eval("({ paint: performance.getEntriesByName('first-contentful-paint')[0].startTime, map: map_ms, shown: shown_ms })") });
		await page.close();
	}
	return Object.fromEntries(Object.keys(times[0]).map((key) => [key, Math.round(median(times.map((t) => t[key])))]));
}

async function checkLarge(browser, what, words, limit_ms) {
	const topology = JSON.parse(execFileSync(join(build, "antiphase"), ["topology", "generate", ...words], { encoding: "utf8", maxBuffer: 1 << 28 }));
	const links = topology.cables.filter((c) => !c.a.startsWith("h")).slice(0, 64).map((c, i) => ({ name: `${c.a}>${c.b}`, gbps: c.gbps, now: (c.gbps * 1e9 * (i % 10)) / 10, jobs: i % 3 ? ["A"] : ["A", "B"] }));
	const ticks = Array.from({ length: 20 }, (_, i) => linksDoc(links.map((l) => ({ ...l, now: (l.now + i * 1e9) % (l.gbps * 1e9) })), 1e15 + i * 1e6));
	const docs = { "/api/v1/topology": topology, "/api/v1/links": ticks[0], "/api/v1/health": { schema: "antiphase.health/1", has_fabric: true, is_ok: true, hosts: topology.hosts.length, silent_hosts: 0, version: "-", bus: "-" } };
	const server = await serve(dist, docs, ticks), times = await loadTimes(browser, server.url), page = await browser.open();
	await page.size(1280, 1000);
	await page.go(server.url);
	await page.until("document.querySelector('.fabric') !== null", `${what} is drawn`);
	const cpu_s = (await browser.send("SystemInfo.getProcessInfo")).processInfo.filter((p) => p.type === "renderer").map((p) => p.cpuTime).at(-1);
	const { metrics } = await (await page.send("Performance.enable"), page.send("Performance.getMetrics"));
	const heap = metrics.find((m) => m.name === "JSHeapUsedSize").value / 1e6;
	await page.picture(join(out, `${what.replaceAll(/[ ,]+/g, "-")}.png`));
	const zoom = await frames(page, "new WheelEvent('wheel', { deltaY: n % 40 < 20 ? -1 : 1, clientX: 300, clientY: 300, cancelable: true, bubbles: true })");
	const pan = await frames(page, "new PointerEvent('pointermove', { movementX: n % 40 < 20 ? 9 : -9, movementY: 3, bubbles: true })");
	const rest = await frames(page, "new Event('nothing')");
	console.log(`${what}: ${await page.eval("document.querySelector('.fabric').tagName")}, first paint after ${times.paint} ms, the map is in the page after ${times.map} ms and shown after ${times.shown} ms (bar: ${limit_ms} ms), with ${times.cpu} ms of the main thread, median of ${LOADS} loads by the page's clock; ${cpu_s.toFixed(2)} s of processor time, ${heap.toFixed(0)} MB, ${zoom} frames a second while zooming, ${pan} while panning; ${rest} at rest`);
	verdict(heap < 200, `${what}: less than 200 MB`, `${heap} MB`);
	page.faults = page.faults.filter((fault) => !fault.includes("404"));
	silence(page, server.url, what);
	server.close();
}

// ---- Reports ------------------------------------------------------------------------

async function checkReports(browser) {
	const sim = join(folder, "compare.json"), names = join(folder, "hostile.json");
	writeFileSync(sim, execFileSync(join(build, "antiphase"), ["sim", "compare", "two-jobs.ini", "--policies", "none,antiphase", "--seeds", "1..3", "--json"], { cwd: examples }));
	writeFileSync(names, JSON.stringify(hostileDocs().docs["/api/v1/advice"]));
	const reports = { simulation: [[sim], "svg.chart rect"], recording: [["--fabric", "two-jobs-fabric.json", "two-jobs.tele"], "g.edge"], hostile: [[names], "main tbody tr"] };
	for (const [what, [words, selector]] of Object.entries(reports)) {
		const file = join(folder, `${what}.html`), page = await browser.open();
		execFileSync(join(build, "antiphase"), ["report", ...words, "-o", file], { cwd: examples });
		await page.size(1280, 1000);
		await page.go(pathToFileURL(file).href);
		await page.until(`document.querySelector(${JSON.stringify(selector)}) !== null`, `the report of a ${what}`);
		await accessibility(page, `report, ${what}`);
		await page.picture(join(out, `report-${what}.png`));
		const origin = pathToFileURL(file).href;
		silence(page, origin, `report, ${what}`);
		verdict(!(await page.eval("document.title")).startsWith("owned"), `report, ${what}: names are text`);
	}
}

// ---- All of it ----------------------------------------------------------------------

const asked = process.argv.slice(4);
const PARTS = {
	live: checkLive,
	hostile: checkHostile,
	large: async (browser) => {
		await checkLarge(browser, "1,024 hosts", ["leaf-spine", "--leaves", "32", "--hosts-per-leaf", "32", "--spines", "16", "--gbps", "100"], 1000);
		await checkLarge(browser, "16,384 hosts", ["leaf-spine", "--leaves", "512", "--hosts-per-leaf", "32", "--spines", "16", "--gbps", "100"], 3000);
	},
	report: checkReports,
	recording: checkRecording,
	program: checkProgram,
	bus: checkBus,
	player: checkPlayedReport,
	meeting: checkMeeting,
	simulation: checkSimulation,
	many: checkMany,
};

async function main() {
	if (!CHROMIUM) {
		console.log("SKIP web: chromium is not installed");
		counts.SKIP++;
		return;
	}
	mkdirSync(out, { recursive: true });
	const browser = new Browser(CHROMIUM);
	try {
		for (const [name, check] of Object.entries(PARTS)) if (!asked.length || asked.includes(name)) await check(browser);
	} catch (error) {
		verdict(false, "the check comes to its end", error.stack);
	} finally {
		for (const child of children) child.kill("SIGKILL");
		await browser.close();
		rmSync(folder, { recursive: true, force: true });
	}
}

await main();
console.log(`${counts.PASS} passed, ${counts.FAIL} failed, ${counts.SKIP} skipped`);
// A server of a part that failed would keep this program running.
process.exit(counts.FAIL ? 1 : 0);
