// SPDX-License-Identifier: Apache-2.0
// player.mjs - the page of 'antiphase web', of a recording and of a bus; the player in the
// report of a recording; and reports of flows that meet.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { accessibility, agree, api, build, children, dist, examples, folder, freePort, out, root, silence, start, verdict } from "./lab.mjs";
import { recordingDocs, serve } from "./serve.mjs";

const json = (path) => JSON.parse(readFileSync(join(root, path), "utf8"));
const LENGTH_S = 20;
const USES = "Object.fromEntries([...document.querySelectorAll('g.edge[data-edge]')].filter((g) => g.dataset.use !== '').map((g) => [g.dataset.edge, Number(g.dataset.use).toFixed(3)]).sort())";
const AT = "Number(new URLSearchParams(location.hash.slice(1)).get('at'))";

const edgeOf = (name) => name.split(">").map((end) => end.split(":")[0]).join(">");
const usesOf = (links, use) => Object.fromEntries(links.filter((l) => l.link.includes(">") && !l.link.endsWith(">")).map((l) => [edgeOf(l.link), use(l).toFixed(3)]).sort());

const open = (page, view) => page.eval(`location.hash = ${JSON.stringify(`#view=${view}`)}`);

async function seek(page, us) {
	await page.eval(`(() => { const range = document.querySelector(".player input"); range.value = ${us}; range.dispatchEvent(new Event("input", { bubbles: true })); })()`);
}

export async function checkRecording(browser) {
	const { block, docs, state } = recordingDocs(json("web/fixtures/top.json"), json("examples/two-jobs-fabric.json"), LENGTH_S);
	const server = await serve(dist, docs, null, { block, delay_ms: 20 }), page = await browser.open();
	const drawn = (at_us, what) => agree(page, what, async () => usesOf(state(at_us).links, (l) => l.now_bps / l.capacity_bps), USES);
	await page.size(1280, 1000);
	await page.theme("light");
	await page.go(server.url);
	await page.until("document.querySelectorAll('g.edge').length === 12 && document.querySelector('.player') !== null", "the recording's map");
	await drawn(block.end_us, "a recording opens at its end");
	await accessibility(page, "recording, Fabric");
	const tabs = await page.eval("[...document.querySelectorAll('nav a')].map((a) => a.innerText).join()");
	verdict(tabs === "Fabric,Over time,Jobs,Health", "a recording offers the views that it can fill", tabs);
	const top = await page.eval("document.querySelector('main').getBoundingClientRect().top");
	await page.eval("document.activeElement.blur()");
	await page.key(",");
	await page.key(",");
	await page.key(".");
	await drawn(block.end_us - 1e6, "comma and point go a second back and on");
	await seek(page, 7.5e6);
	await drawn(block.begin_us + 7.5e6, "the slider seeks");
	await page.until(`${AT} === ${block.begin_us + 7.5e6}`, "the address has the time");
	await open(page, "jobs");
	await page.until(`document.querySelector("section[aria-label='Jobs']") !== null && ${AT} === ${block.begin_us + 7.5e6}`, "the time stays in another view");
	await page.go(`${server.url}?again#view=fabric&at=${block.begin_us + 3e6}`);
	await page.until("document.querySelectorAll('g.edge').length === 12", "the map of a pasted address");
	await drawn(block.begin_us + 3e6, "a pasted address opens at its time");
	await page.eval("document.activeElement.blur()");
	await page.key(" ");
	await page.until("document.querySelector('.play').getAttribute('aria-pressed') === 'true'", "Space plays");
	await page.until(`${AT} > ${block.begin_us + 4e6}`, "the time goes on");
	await page.key(" ");
	await page.until("document.querySelector('.play').getAttribute('aria-pressed') === 'false'", "Space pauses");
	await page.until(`${AT} === ${AT} && ${AT} > 0`);
	await new Promise((done) => setTimeout(done, 1200));
	await drawn(await page.eval(AT), "after playing, the map is that of the time in the address");
	verdict(await page.eval("document.querySelector('main').getBoundingClientRect().top") === top, "the player does not move the page");
	await page.eval(`(() => { const speed = document.querySelector(".player select"); speed.value = 60; speed.dispatchEvent(new Event("change", { bubbles: true })); })()`);
	await page.key(" ");
	await page.until(`document.querySelector('.play').getAttribute('aria-pressed') === 'false' && !location.hash.includes("at=")`, "playing ends at the end");
	await drawn(block.end_us, "playing at 60x comes to the end");
	await checkRecordingViews(page, block);
	const others = [...server.paths].filter((path) => !/^\/api\/v1\/(topology|top|history|links\/.*\/(circle|series))$/.test(path));
	verdict(others.length === 0, "a recording asks for nothing that 'antiphase web' does not have", others.join());
	verdict(server.most === 1, "one request at a time", `${server.most} at once`);
	await checkBroken(page, server, block);
}

async function checkRecordingViews(page, block) {
	await seek(page, 5e6);
	await open(page, "heatmap");
	await page.until("document.querySelectorAll('svg.chart rect').length > 0", "the heatmap");
	await page.until(`document.querySelector("[data-at]")?.dataset.at === "${block.begin_us + 5e6}"`, "the mark of the time");
	await accessibility(page, "recording, Over time");
	await page.picture(join(out, "recording-heatmap.png"));
	await page.eval("document.querySelectorAll('svg.chart g.edge rect')[11].dispatchEvent(new MouseEvent('click', { bubbles: true }))");
	await page.until(`location.hash.includes("view=link") && ${AT} === ${block.begin_us + 11e6}`, "a click in the heatmap opens link and time");
	await page.until("document.querySelectorAll('.circles svg.chart').length === 2 && document.querySelector(\"section[aria-label^='Share of']\") !== null", "the link's circle and shares");
	verdict(true, "a click in the heatmap opens the link at that time, with its circle");
	await page.picture(join(out, "recording-link.png"));
	for (const [view, wanted] of [["advice", "need antiphase-scheduler"], ["job&job=A", "antiphase job A"], ["health", "day.tele"]]) {
		await open(page, view);
		await page.until(`document.querySelector("main").innerText.includes(${JSON.stringify(wanted)})`, `${view} says what it has`);
	}
	await accessibility(page, "recording, Health");
}

// A server that is gone: the figures stay, and the lamp says so.
async function checkBroken(page, server, block) {
	silence(page, server.url, "recording");
	server.close();
	await open(page, "fabric");
	await seek(page, 2e6);
	await page.until("document.querySelector('.lamp.bad')?.innerText.includes('does not answer')", "the page says that there is no answer");
	verdict(await page.eval("document.querySelectorAll('g.edge').length") === 12, "a recording without a server says so, and keeps its figures");
}

export async function checkBus(browser) {
	const { docs, state } = recordingDocs(json("web/fixtures/top.json"), json("examples/two-jobs-fabric.json"), LENGTH_S);
	let n = 0, last = null;
	docs["/api/v1/top"] = () => (last = state(1795227480000000 + ++n * 1e6));
	delete docs["/api/v1/history"];
	const block = { schema: "antiphase.viewer/1", source: "ipc:///run/antiphase/bus", is_recording: false, has_fabric: true };
	const server = await serve(dist, docs, null, { block, delay_ms: 20 }), page = await browser.open();
	await page.size(1280, 1000);
	await page.go(server.url);
	await page.until("document.querySelectorAll('g.edge').length === 12", "the bus's map");
	await page.until(() => last !== null, "the bus is asked");
	await agree(page, "a bus is followed", async () => usesOf(last.links, (l) => l.now_bps / l.capacity_bps), USES);
	const before = n;
	await page.until(() => n >= before + 2, "the bus is asked again");
	verdict(await page.eval("document.querySelector('.player') === null"), "a bus has no player");
	await open(page, "heatmap");
	await page.until("document.querySelectorAll('svg.chart rect').length > 0", "the bus's heatmap");
	silence(page, server.url, "bus");
	server.close();
}

// The program itself, over a recording of some seconds.
export async function checkProgram(browser) {
	const port = await freePort(), url = `http://127.0.0.1:${port}`, page = await browser.open();
	start("antiphase", ["web", "--from", "two-jobs.tele", "--fabric", "two-jobs-fabric.json", "--http", `127.0.0.1:${port}`], { cwd: examples });
	for (let i = 0; i < 400 && !(await fetch(url).then((r) => r.ok, () => false)); i++) await new Promise((done) => setTimeout(done, 100));
	await page.size(1280, 1000);
	await page.go(`${url}/`);
	await page.until("document.querySelectorAll('g.edge').length === 12 && document.querySelector('.player') !== null", "the map of 'antiphase web'");
	const { begin_us, end_us } = JSON.parse(await page.eval("document.getElementById('viewer').textContent"));
	for (const at_us of [end_us, Math.round((begin_us + end_us) / 2)]) {
		await seek(page, at_us - begin_us);
		await agree(page, `'antiphase web' at ${at_us - begin_us} us of the recording`, async () => usesOf((await api(url, `top?at_us=${at_us}`)).links.filter((l) => l.now_bps !== null), (l) => l.now_bps / l.capacity_bps), USES);
	}
	await seek(page, end_us - begin_us); // In its middle no period is known yet.
	for (const [view, selector] of [["heatmap", "svg.chart rect"], ["link&link=leaf0%3Ap2%3Espine0%3Ap0", ".circles"], ["jobs", "main tbody tr"], ["health", "main tbody tr"]]) {
		await open(page, view);
		await page.until(`document.querySelector(${JSON.stringify(selector)}) !== null`, `${view} of 'antiphase web'`);
	}
	verdict(true, "'antiphase web' fills the views of a recording");
	silence(page, url, "'antiphase web'");
	for (const child of children.splice(0)) child.kill("SIGKILL");
}

// 'antiphase web' with more jobs than anyone has, each with a long name.
export async function checkMany(browser) {
	const N = 100000, top = json("web/fixtures/top.json");
	const jobs = Array.from({ length: N }, (_, i) => ({ ...top.jobs[0], job: `${"n".repeat(1000)}-${String(i).padStart(6, "0")}`, phases: [], trend_us: [], links: [], hosts: ["h0"] }));
	const text = JSON.stringify({ ...top, links: [], jobs });
	const block = { schema: "antiphase.viewer/1", source: "bus", is_recording: false, has_fabric: false };
	const server = await serve(dist, { "/api/v1/top": { text } }, null, { block }), page = await browser.open();
	await page.size(1280, 1000);
	await page.go(`${server.url}#view=jobs`);
	await page.until("document.querySelectorAll('main tbody tr').length > 0", "100,000 jobs");
	const said = await page.eval("[document.querySelectorAll('main tbody tr').length, document.querySelector('main').innerText.includes('250 of 100000')]");
	verdict(said[0] === 250 && said[1], "of 100,000 jobs a part is shown, and the page says so", String(said));
	await page.key("/");
	await page.send("Input.insertText", { text: "-099998" });
	await page.until("document.querySelectorAll('.found a').length === 1", "one of 100,000 jobs is found");
	await page.eval("document.querySelector('form.search').requestSubmit()");
	await page.until("document.querySelector('h2').innerText.endsWith('-099998')", "the found job");
	verdict(true, "one of 100,000 jobs with names of 1 KB is found, and shown");
	silence(page, server.url, "100,000 jobs");
	server.close();
	await page.go("about:blank");
}

export async function checkPlayedReport(browser) {
	const file = join(folder, "player.html"), page = await browser.open();
	execFileSync(join(build, "antiphase"), ["report", "--fabric", "two-jobs-fabric.json", "two-jobs.tele", "-o", file], { cwd: examples });
	await page.size(1280, 1000);
	await page.go(pathToFileURL(file).href);
	await page.until("document.querySelectorAll('g.edge').length === 12 && document.querySelector('.player') !== null", "the report's player");
	const atEnd = await page.eval(USES);
	const { documents } = JSON.parse(await page.eval("document.getElementById('data').textContent"));
	const history = documents.find((doc) => doc.schema === "antiphase.link_history/2");
	await seek(page, history.step_us * 1.5);
	const known = { ...history, links: history.links.filter((l) => l.permille[1] !== null) };
	await agree(page, "the player of a report moves the colors", async () => usesOf(known.links, (l) => l.permille[1] / 1000), USES);
	verdict(await page.eval("document.querySelector('main').innerText.includes('are those of the end of the recording')"), "a report says what the player does not move");
	await page.until(`${AT} === ${history.from_us + history.step_us * 1.5}`, "the address of a report has the time");
	await open(page, "heatmap");
	await page.until(`document.querySelector("[data-at]")?.dataset.at === "${history.from_us + history.step_us * 1.5}"`, "the report's mark");
	await open(page, "fabric");
	await seek(page, 1e12);
	await agree(page, "at the end of the player is the recording's end", async () => atEnd, USES);
	silence(page, pathToFileURL(file).href, "report, player");
}

export async function checkMeeting(browser) {
	const { fabric, links } = json("web/fixtures/collisions.json"), file = join(folder, "meeting.html"), page = await browser.open();
	const path = execFileSync(join(build, "antiphase"), ["topology", "path", "two-jobs-fabric.json", "h0", "h2", "--json"], { cwd: examples });
	const files = Object.entries({ fabric, links }).map(([name, doc]) => {
		writeFileSync(join(folder, `meeting-${name}.json`), JSON.stringify(doc));
		return join(folder, `meeting-${name}.json`);
	});
	execFileSync(join(build, "antiphase"), ["report", ...files, "-o", file]);
	await page.size(1280, 1000);
	await page.go(pathToFileURL(file).href);
	const { link } = links.collisions[0], flows = links.collisions.filter((flow) => flow.link === link);
	await page.until("[...document.querySelectorAll('main a')].some((a) => a.hash.includes('flows=1'))", "links to flows that meet");
	await page.eval(`[...document.querySelectorAll("main a")].find((a) => a.hash.includes("flows=1") && a.innerText === ${JSON.stringify(link)}).click()`);
	await page.until("document.querySelectorAll('polyline.flow').length > 0", "flows on the map");
	const titles = await page.eval("[...document.querySelectorAll('polyline.flow title')].map((t) => t.textContent).sort()");
	const wanted = flows.flatMap((flow) => [`${flow.from} to ${flow.to} of ${flow.job} over ${flow.via}`, ...(flow.room_via ? [`${flow.from} to ${flow.to} of ${flow.job} over ${flow.room_via}, which has room`] : [])]).sort();
	verdict(JSON.stringify(titles) === JSON.stringify(wanted), "the map has the paths of the flows that meet, and those with room", `${titles}\n${wanted}`);
	await accessibility(page, "flows on the map");
	await page.picture(join(out, "flows-map.png"));
	await open(page, `link&link=${encodeURIComponent(link)}`);
	await page.until("document.querySelector(\"section[aria-label='Flows that meet here'] svg\") !== null", "the flows of the link");
	await page.eval("document.querySelector(\"section[aria-label='Flows that meet here'] button\").click()");
	const rows = await page.eval("[...document.querySelector(\"section[aria-label='Flows that meet here'] tbody\").rows].map((tr) => [...tr.cells].map((td) => td.innerText.trim()))");
	const cells = flows.map((flow) => [flow.job, flow.from, flow.to, String(flow.port), flow.via, flow.basis, String(flow.paths), flow.room_via ?? "-", String(flow.room_port || "-")]);
	verdict(JSON.stringify(rows) === JSON.stringify(cells), "the table of flows is that of the document", JSON.stringify(rows));
	silence(page, pathToFileURL(file).href, "flows that meet");
	writeFileSync(join(folder, "path.json"), path);
	execFileSync(join(build, "antiphase"), ["report", join(examples, "two-jobs-fabric.json"), join(folder, "path.json"), "-o", file]);
	await page.go(pathToFileURL(file).href);
	await page.until("document.querySelectorAll(\"section[aria-label^='Path from h0'] tbody tr\").length === 4", "the path");
	verdict(true, "a report shows a path");
	await checkFoundPaths(page, file);
}

// Probed and inferred paths, in the words of the command.
async function checkFoundPaths(page, file) {
	const { inferred, probed } = json("web/fixtures/paths.json"), all = [...inferred, ...probed];
	const { fabric } = json("web/fixtures/collisions.json"), files = [{ doc: fabric }, ...all].map(({ doc }, i) => {
		writeFileSync(join(folder, `found-${i}.json`), JSON.stringify(doc));
		return join(folder, `found-${i}.json`);
	});
	execFileSync(join(build, "antiphase"), ["report", ...files, "-o", file]);
	await page.go(`${pathToFileURL(file).href}?found`);
	await page.until(`document.querySelectorAll("section[aria-label*=' to '] tbody tr").length >= ${all.length}`, "found paths");
	const drawn = await page.eval("[...document.querySelectorAll(\"section[aria-label*=' to ']\")].map((s) => [s.querySelector('h2').innerText, ...[...s.querySelector('tbody').rows].map((tr) => [...tr.cells].slice(0, s.querySelectorAll('th').length > 3 ? 4 : 3).map((td) => td.innerText.trim()).join(' '))])");
	const printed = all.map(({ lines }, i) => [lines[0] + (all.findIndex((other) => other.lines[0] === lines[0]) < i ? ` (${i + 1})` : ""), ...lines.slice(3).map((line) => line.trim().split(/ +/).join(" "))]);
	verdict(JSON.stringify(drawn) === JSON.stringify(printed), "probed and inferred paths are in the words of the command", JSON.stringify(drawn) + "\n" + JSON.stringify(printed));
	const bright = await page.eval("[...document.querySelectorAll('g.edge')].filter((g) => g.getAttribute('opacity') === '1').map((g) => g.dataset.edge).sort()");
	const links = new Set(inferred.flatMap(({ doc }) => doc.flows.flatMap((flow) => flow.links.map((l) => edgeOf(l.link)))));
	verdict(links.size > 0 && JSON.stringify(bright) === JSON.stringify([...links].sort()), "the map marks the links of inferred paths", `${bright}\n${[...links]}`);
	await accessibility(page, "found paths");
	await page.picture(join(out, "paths-found.png"));
}
