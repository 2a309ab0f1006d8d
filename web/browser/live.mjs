// SPDX-License-Identifier: Apache-2.0
// live.mjs URL OUT JOB... - the page of a running antiphase-scheduler in a headless
// Chromium: waits until these jobs contend for a link, and compares what is drawn with
// the API.  Prints PASS and FAIL lines; a screenshot goes to OUT.
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { percent, rate } from "../src/format.js";
import { Browser } from "./cdp.mjs";

const [url, out, ...jobs] = process.argv.slice(2);
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const ROWS = "[...document.querySelector('main table').tBodies[0].rows].map((tr) => [...tr.cells].map((td) => td.innerText.trim()))";
let nFailed = 0;

function verdict(isGood, what, why = "") {
	nFailed += !isGood;
	console.log(`${isGood ? "PASS" : "FAIL"} ${what}${isGood ? "" : `: ${String(why).replaceAll("\n", " ")}`}`);
}

const api = (path) => fetch(`${url}/api/v1/${path}`).then((r) => r.json());
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function until(what, is, ms) {
	for (const end = Date.now() + ms; Date.now() < end; await sleep(300)) if (await is().catch(() => false)) return true;
	verdict(false, what, "not in time");
	return false;
}

// Waits until what the page says agrees with the API; both change every second.
async function agree(page, what, wanted, drawn) {
	let want, got;
	for (let i = 0; i < 60; i++) {
		want = JSON.stringify(await wanted());
		got = JSON.stringify(await page.eval(drawn).catch(() => null));
		if (got === want && want !== "[]") break;
		await sleep(150);
	}
	verdict(got === want && want !== "[]", what, `drawn ${got}, expected ${want}`);
}

// Those that print as more than nothing.
const contended = async () => (await api("links")).links.filter((l) => l.over_ratio >= 0.005);

async function check(page) {
	const isThere = await until("the jobs contend", async () => (await contended()).some((l) => jobs.every((name) => l.jobs.some((j) => j.job === name))), 40000);
	if (!isThere) return;
	await page.size(1280, 1000);
	await page.go(`${url}/`);
	await page.until("document.querySelectorAll('main tbody tr').length > 0", "the links", 15000);
	await agree(page, "the links that are shown contended are those of the API", async () => (await contended()).map((l) => [l.link, rate(l.capacity_bps), percent(l.over_ratio)]).sort(),
		`${ROWS}.filter((row) => !/^(-|0 %)$/.test(row[4])).map((row) => [row[0], row[1], row[4]]).sort()`);
	await agree(page, "marked on the map are the same", async () => (await contended()).map((l) => l.link.split(">").map((end) => end.split(":")[0]).join(">")).sort(),
		"[...document.querySelectorAll('g.edge')].filter((g) => g.querySelector('title').textContent.endsWith(' contended')).map((g) => g.dataset.edge).sort()");
	mkdirSync(out, { recursive: true });
	await page.picture(join(out, "live-mpi.png"));
	await page.eval("location.hash = '#view=jobs'");
	await agree(page, "the jobs are those of the API", async () => (await api("jobs")).jobs.map((j) => [j.job, String(j.hosts.length)]), `${ROWS}.map((row) => row.slice(0, 2))`);
	const shown = await page.eval(`${ROWS}.map((row) => row[0])`);
	verdict(jobs.every((name) => shown.includes(name)), "both jobs are named", shown);
	await page.eval(`location.hash = ${JSON.stringify(`#view=job&job=${encodeURIComponent(jobs[0])}`)}`);
	// Without a pacer and without advice there are none, but estimates.
	await agree(page, "the iterations of a job are those of the API", async () => [(await api(`jobs/${encodeURIComponent(jobs[0])}/iterations`)).iterations.length],
		"document.querySelector(\"section[aria-label='Iteration time, last estimates'] polyline\") ? [0] : [document.querySelectorAll(\"section[aria-label='Iteration time'] circle\").length]");
	const [link] = await contended();
	if (link) {
		await page.eval(`location.hash = ${JSON.stringify(`#view=link&link=${encodeURIComponent(link.link)}`)}`);
		await page.until("document.querySelector(\"section[aria-label='Rate by job'] canvas\") !== null", "the link", 15000);
		const fine = await api(`links/${encodeURIComponent(link.link)}/series`);
		verdict(fine.step_us === 1000 && fine.jobs.length > 1 && fine.history_bps.length > 60, "its series has milliseconds", JSON.stringify(fine).slice(0, 300));
		await page.eval(`[...document.querySelectorAll("section[aria-label='Rate by job'] button")].find((b) => b.innerText === "as table").click()`);
		await page.until("document.querySelectorAll(\"section[aria-label='Rate by job'] tbody tr\").length >= 250", "milliseconds in the table", 15000);
		verdict(true, "a contended link is drawn");
	}
	const foreign = page.requests.filter((to) => !to.startsWith(url) && !/^(data|blob|about):/.test(to));
	verdict(page.faults.length === 0, "no error in the console", page.faults.join(" "));
	verdict(foreign.length === 0, "no request elsewhere", foreign.join(" "));
}

const browser = new Browser(CHROMIUM);
try {
	await check(await browser.open());
} catch (error) {
	verdict(false, "the check comes to its end", error.stack);
} finally {
	await browser.close();
}
process.exitCode = nFailed ? 1 : 0;
