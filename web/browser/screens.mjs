// SPDX-License-Identifier: Apache-2.0
// screens.mjs BUILD OUT - pictures of the six main views, light and dark, of a scheduler
// that hears simulated jobs, and of a simulation's report.
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Browser } from "./cdp.mjs";
import { api, build, children, CHROMIUM, examples, folder, out, startScheduler } from "./lab.mjs";
import { shrink } from "./png.mjs";

const WIDTH = 1200, HEIGHT = 800, MAX_BYTES = 120000;
const FILLED_MS = 30000; // Until there are some links over time.

async function picture(page, name) {
	for (const theme of ["light", "dark"]) {
		await page.theme(theme);
		await page.until(`matchMedia("(prefers-color-scheme: ${theme})").matches`);
		await page.eval("document.activeElement.blur(), new Promise((done) => setTimeout(done, 500))");
		const file = join(out, `${name}-${theme}.png`);
		await page.picture(file);
		const small = shrink(readFileSync(file));
		if (small.length > MAX_BYTES) throw new Error(`${file} has ${small.length} bytes, at most ${MAX_BYTES}`);
		writeFileSync(file, small);
		console.log(`${file}: ${small.length} bytes`);
	}
}

async function show(page, hash, selector) {
	await page.eval(`location.hash = ${JSON.stringify(hash)}`);
	await page.until(`document.querySelector(${JSON.stringify(selector)}) !== null`, hash);
}

async function live(page) {
	const url = await startScheduler();
	await page.go(`${url}/`);
	await new Promise((done) => setTimeout(done, FILLED_MS));
	const { links } = await api(url, "links"), worst = links.find((link) => link.over_ratio > 0 && link.jobs.length > 1) ?? links[0];
	const { advice } = await api(url, "advice"), advised = advice.find((each) => each.shift_us > 0) ?? advice[0];
	await show(page, "#view=fabric", ".fabric");
	await picture(page, "fabric");
	await show(page, "#view=heatmap", "svg.chart rect");
	await picture(page, "over-time");
	await show(page, `#view=link&link=${encodeURIComponent(worst.link)}`, ".u-wrap canvas");
	await page.until("document.querySelector('.circles svg.chart') !== null", "the circle");
	await picture(page, "link");
	await show(page, `#view=job&job=${encodeURIComponent(advised.job)}`, "section[aria-label^='Advice for']");
	await picture(page, "job");
	await show(page, "#view=advice", "main tbody tr");
	await picture(page, "advice");
}

async function simulation(page) {
	const sim = join(folder, "compare.json"), file = join(folder, "simulation.html");
	writeFileSync(sim, execFileSync(join(build, "antiphase"), ["sim", "compare", "two-jobs.ini", "--policies", "none,antiphase", "--iterations", "10", "--series", "--json"], { cwd: examples }));
	execFileSync(join(build, "antiphase"), ["report", sim, "two-jobs-fabric.json", "-o", file], { cwd: examples });
	await page.go(`${pathToFileURL(file).href}#view=sim&at=350000`);
	await page.until("document.querySelector('svg.chart rect') !== null", "the simulation");
	await picture(page, "simulation");
}

if (!CHROMIUM) throw new Error("chromium is not installed");
mkdirSync(out, { recursive: true });
const browser = new Browser(CHROMIUM);
try {
	const page = await browser.open();
	await page.size(WIDTH, HEIGHT);
	await live(page);
	await simulation(page);
	if (page.faults.length) throw new Error(page.faults.join("\n"));
} finally {
	for (const child of children) child.kill("SIGKILL");
	await browser.close();
	rmSync(folder, { recursive: true, force: true });
}
