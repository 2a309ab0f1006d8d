// SPDX-License-Identifier: Apache-2.0
// lab.mjs - what all checks in the browser need: verdicts, the programs, and what is
// checked on every page.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const [build, out] = process.argv.slice(2).map((path) => resolve(path));
export const root = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
export const examples = join(root, "examples"), dist = join(root, "web/dist");
export const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
export const folder = mkdtempSync(join(tmpdir(), "ap-web-"));
export const children = [];
export const counts = { PASS: 0, FAIL: 0, SKIP: 0 };

export function verdict(isGood, what, why = "") {
	const word = isGood ? "PASS" : "FAIL";
	counts[word]++;
	console.log(`${word} web: ${what}`);
	if (!isGood && why) console.log(why);
}

// ---- The programs -------------------------------------------------------------------

export function freePort() {
	return new Promise((done) => {
		const server = createServer().listen(0, "127.0.0.1", () => {
			const { port } = server.address();
			server.close(() => done(port));
		});
	});
}

export function start(program, words, options = {}) {
	const child = spawn(join(build, program), words, { stdio: ["ignore", "ignore", process.env.DEBUG ? "inherit" : "ignore"], ...options });
	children.push(child);
	return child;
}

// A scheduler that hears the jobs of examples/two-jobs.ini, and advises them.
export async function startScheduler() {
	const port = await freePort(), url = `http://127.0.0.1:${port}`;
	start("antiphase-scheduler", ["--runtime-dir", folder, "--bus", `ipc://${folder}/bus`, "--announce", `ipc://${folder}/announce`,
		"--topology", join(examples, "two-jobs-fabric.json"), "--store", `${folder}/history.db`, "--kill-switch", `${folder}/stop`,
		"--link-jobs", "4", "--http", `127.0.0.1:${port}`]);
	start("antiphase-sim", ["run", "two-jobs.ini", "--duration", "1000", "--pace", "4", "--publish", `ipc://${folder}/bus`], { cwd: examples });
	for (let i = 0; i < 1200; i++) {
		const health = await fetch(`${url}/api/v1/health`).then((r) => r.json(), () => null);
		if (health?.advised_jobs === 2) return url;
		await new Promise((done) => setTimeout(done, 150));
	}
	throw new Error("the scheduler does not advise");
}

export const api = (url, path) => fetch(`${url}/api/v1/${path}`).then((r) => r.json());

// ---- What is checked on every page --------------------------------------------------

export async function accessibility(page, what) {
	const source = readFileSync(join(root, "web/node_modules/axe-core/axe.min.js"), "utf8");
	await page.send("Runtime.evaluate", { expression: source });
	const found = await page.eval(`axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 150)).join(" | ")))`);
	verdict(found.length === 0, `${what}: no accessibility violation`, found.join("\n"));
}

export function silence(page, origin, what) {
	const foreign = page.requests.filter((url) => !url.startsWith(origin) && !/^(data|blob|about):/.test(url));
	verdict(page.faults.length === 0, `${what}: no error in the console`, page.faults.join("\n"));
	verdict(foreign.length === 0, `${what}: no request elsewhere`, foreign.join("\n"));
}

// Waits until what the page says agrees with the API; both change every second.
export async function agree(page, what, wanted, drawn) {
	let want, got;
	for (let i = 0; i < 40; i++) {
		want = JSON.stringify(await wanted());
		got = JSON.stringify(await page.eval(drawn));
		if (got === want) break;
		await new Promise((done) => setTimeout(done, 150));
	}
	verdict(got === want, what, `drawn:    ${got}\nexpected: ${want}`);
}
