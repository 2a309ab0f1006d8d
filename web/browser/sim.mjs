// SPDX-License-Identifier: Apache-2.0
// sim.mjs - the report of simulations by time: the player moves what is said of each run.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ms, percent } from "../src/format.js";
import { accessibility, agree, build, examples, folder, out, silence, verdict } from "./lab.mjs";

const antiphase = (...words) => execFileSync(join(build, "antiphase"), words, { cwd: examples, encoding: "utf8" });
const table = (title) => `[...document.querySelector("section[aria-label='${title}'] tbody").rows].map((tr) => [...tr.cells].map((td) => td.innerText.trim()))`;
const AT = "Number(new URLSearchParams(location.hash.slice(1)).get('at'))";

async function report(page, name, documents, more = []) {
	const file = join(folder, `${name}.html`), files = documents.map((text, i) => join(folder, `${name}-${i}.json`));
	documents.forEach((text, i) => writeFileSync(files[i], text));
	antiphase("report", "-o", file, ...files, ...more);
	await page.go(pathToFileURL(file).href);
	return pathToFileURL(file).href;
}

async function seek(page, us) {
	await page.eval(`(() => { const range = document.querySelector(".player input"); range.value = ${us}; range.dispatchEvent(new Event("input", { bubbles: true })); })()`);
}

// What the tables say at a time, from the document alone.
function wanted(runs, us) {
	const links = {}, jobs = {};
	runs.forEach(({ series }, i) => {
		const hasEnded = us > Math.ceil(series.end_us), k = Math.min(series.links[0].permille.length - 1, Math.floor(us / series.step_us));
		for (const link of series.links) {
			const over = link.over_permille[k] / 1000;
			(links[link.link] ??= runs.map(() => "-"))[i] = hasEnded ? "-" : percent(link.permille[k] / 1000) + (over > 0 ? `, exceeded ${percent(over)}` : "");
		}
		for (const job of series.jobs) {
			const entry = job.start_us.filter((start) => start <= us).length - 1;
			(jobs[job.job] ??= runs.map(() => "-"))[i] = hasEnded ? "-" : ms(job.mean_us[entry]);
		}
	});
	return { links, jobs };
}

const drawn = (title, n) => `Object.fromEntries(${table(title)}.map((row) => [row[0], row.slice(1, ${1 + n})]).sort())`;
const sorted = (rows) => Object.fromEntries(Object.entries(rows).sort());

async function checkTime(page, runs, us, what) {
	await seek(page, us);
	await agree(page, `${what} at ${us} us: links of all runs`, async () => sorted(wanted(runs, us).links), drawn("Links at this time", runs.length));
	await agree(page, `${what} at ${us} us: iterations of all runs`, async () => sorted(wanted(runs, us).jobs), drawn("Iterations at this time", runs.length));
}

export async function checkSimulation(browser) {
	const page = await browser.open();
	const text = antiphase("sim", "compare", "two-jobs.ini", "--policies", "none,antiphase", "--seeds", "1..2", "-n", "10", "--series", "--json");
	const { policies } = JSON.parse(text), [first, last] = policies;
	await page.size(1280, 1000);
	await page.theme("light");
	const url = await report(page, "played", [text], [join(examples, "two-jobs-fabric.json")]);
	await page.until("document.querySelector('.player') !== null && document.querySelectorAll('figure svg.fabric').length === 2", "two maps and a player");
	const end = Math.ceil(Math.max(...policies.map((p) => p.series.end_us)));
	for (const us of [end, 0, Math.floor(end / 3), Math.floor(end / 2) + 777]) await checkTime(page, policies, us, "a comparison");
	// A step in which only the first exceeds a link, so that the last differs.
	const link = first.series.links.find((l) => l.over_permille.some((over) => over === 1000)).link;
	const [a, b] = [first, last].map((p) => p.series.links.find((l) => l.link === link));
	const k = a.over_permille.findIndex((over, i) => over === 1000 && b.over_permille[i] === 0), us = Math.floor((k + 0.5) * first.series.step_us);
	await checkTime(page, policies, us, "a difference");
	const marked = await page.eval(`[...document.querySelectorAll("section[aria-label='Links at this time'] tr.marked")].map((tr) => tr.cells[0].innerText.trim())`);
	verdict(k >= 0 && marked.includes(link), "a link that only one run exceeds is marked", `${marked}`);
	const edge = link.split(">").map((end) => end.split(":")[0]).join(">");
	const strokes = await page.eval(`[...document.querySelectorAll("figure svg.fabric")].map((map) => { const g = [...map.querySelectorAll("g.edge")].find((e) => e.dataset.edge === ${JSON.stringify(edge)}); return [Number(g.dataset.use), g.querySelectorAll("line").length]; })`);
	verdict(strokes[0][0] === a.permille[k] / 1000 && strokes[1][0] === b.permille[k] / 1000 && strokes[0][1] === strokes[1][1] + 1, "the maps have the shares of their run, and cross strokes where a link is exceeded", JSON.stringify(strokes));
	const over = await page.eval("[...document.querySelectorAll('path.over')].filter((p) => p.getAttribute('d') !== '').length");
	verdict(over > 0, "cells over time are underlined where links are exceeded", String(over));
	await accessibility(page, "simulation over time");
	await page.size(1280, 2000);
	for (const theme of ["dark", "light"]) {
		await page.theme(theme);
		await page.picture(join(out, `sim-played-${theme}.png`));
	}
	await page.until(`${AT} === ${us}`, "the address has the time");
	await page.eval("document.activeElement.blur()");
	await page.key(".");
	await agree(page, "point goes a step on", async () => sorted(wanted(policies, us + first.series.step_us).links), drawn("Links at this time", 2));
	await page.key(" ");
	await page.until(`${AT} > ${us + 3 * first.series.step_us}`, "the time goes on");
	await page.key(" ");
	const at = await page.eval("Number(document.querySelector('.player input').value)");
	await agree(page, "after playing, the table is that of the player's time", async () => sorted(wanted(policies, at).links), drawn("Links at this time", 2));
	silence(page, url, "simulation over time");
	await checkRuns(page);
}

// Two runs with steps of different lengths; a run without a series; and a recording, whose
// player it is then.
async function checkRuns(page) {
	const texts = [["fair", "4"], ["antiphase", "40"]].map(([policy, n]) => antiphase("sim", "run", "two-jobs.ini", "--policy", policy, "-n", n, "--series", "--json"));
	const runs = texts.map((text) => JSON.parse(text));
	await report(page, "runs", texts);
	await page.until("document.querySelector('.player') !== null && document.querySelector(\"section[aria-label='Links at this time'] tbody\") !== null", "runs by time");
	verdict(runs[0].series.step_us < runs[1].series.step_us, "the runs have steps of different lengths");
	for (const us of [100000, Math.ceil(runs[0].series.end_us) + 1]) await checkTime(page, runs, us, "two runs");
	verdict(await page.eval("document.querySelector('main').innerText.includes('fair, seed 1: ended')"), "the page says that a run has ended");
	await report(page, "plain", [antiphase("sim", "run", "two-jobs.ini", "--json")]);
	await page.until("document.querySelector('main').innerText.includes('With --series --json')", "what a series would show");
	verdict(await page.eval("document.querySelector('.player') === null"), "a run without a series has no player");
	page.requests = []; // The pages before were files, too.
	const url = await report(page, "both", [texts[0]], ["--fabric", join(examples, "two-jobs-fabric.json"), join(examples, "two-jobs.tele")]);
	await page.until("document.querySelector('main').innerText.includes('The player is that of the recording')", "the recording's player");
	verdict(await page.eval("document.querySelectorAll('path.over').length > 0"), "beside a recording, a simulation is there as a whole");
	silence(page, url, "simulations");
	verdict(readFileSync(join(folder, "runs.html")).length < 600000, "the report of two runs is small");
}
