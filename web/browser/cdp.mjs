// SPDX-License-Identifier: Apache-2.0
// cdp.mjs - a headless Chromium, spoken to over a pipe (Chrome DevTools Protocol).
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ANSWER_MS = Number(process.env.ANSWER_MS ?? 240000); // A busy machine is slow.

export class Browser {
	constructor(program) {
		this.folder = mkdtempSync(join(tmpdir(), "ap-web-"));
		this.process = spawn(program, ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
			"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync",
			"--no-pings", "--hide-scrollbars", `--user-data-dir=${this.folder}`, "about:blank"],
		{ stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
		this.waiting = new Map();
		this.listeners = [];
		this.last = 0;
		let rest = "";
		this.process.stdio[4].setEncoding("utf8").on("data", (text) => {
			const parts = (rest + text).split("\0");
			rest = parts.pop();
			for (const part of parts) this.take(JSON.parse(part));
		});
	}

	take(message) {
		const waiting = this.waiting.get(message.id);
		if (waiting) {
			this.waiting.delete(message.id);
			clearTimeout(waiting.timer);
			if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
			else waiting.resolve(message.result);
		} else for (const listener of this.listeners) listener(message);
	}

	send(method, params = {}, sessionId = undefined) {
		const id = ++this.last;
		this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
		return new Promise((resolve, reject) => {
			const timer = setTimeout(() => reject(new Error(`${method}: no answer`)), ANSWER_MS);
			this.waiting.set(id, { method, resolve, reject, timer });
		});
	}

	// 'isBare': nothing is heard of the page, which costs it time otherwise; for measuring.
	async open({ isBare = false } = {}) {
		const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
		const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
		const page = new Page(this, sessionId, targetId);
		await page.start(isBare ? ["Page"] : ["Page", "Runtime", "Log", "Network"]);
		return page;
	}

	async close() {
		const ended = new Promise((resolve) => this.process.once("exit", resolve));
		this.send("Browser.close").catch(() => {});
		const timer = setTimeout(() => this.process.kill("SIGKILL"), 10000);
		await ended;
		clearTimeout(timer);
		for (const waiting of this.waiting.values()) clearTimeout(waiting.timer);
		rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
	}
}

class Page {
	constructor(browser, session, target) {
		this.browser = browser;
		this.session = session;
		this.target = target;
		this.faults = []; // Errors of the console, of scripts and of the policy.
		this.requests = [];
		browser.listeners.push((message) => message.sessionId === session && this.hear(message));
	}

	send(method, params) {
		return this.browser.send(method, params, this.session);
	}

	async start(domains) {
		for (const domain of domains) await this.send(`${domain}.enable`);
	}

	close() {
		return this.browser.send("Target.closeTarget", { targetId: this.target });
	}

	hear({ method, params }) {
		if (method === "Runtime.consoleAPICalled" && /error|warning|assert/.test(params.type))
			this.faults.push(`console: ${params.args.map((a) => a.value ?? a.description).join(" ")}`);
		if (method === "Runtime.exceptionThrown")
			this.faults.push(`exception: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
		if (method === "Log.entryAdded" && params.entry.level === "error") this.faults.push(`log: ${params.entry.text} ${params.entry.url ?? ""}`);
		if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
		if (method === "Page.loadEventFired") this.isLoaded = true;
	}

	async go(url) {
		this.isLoaded = false;
		await this.send("Page.navigate", { url });
		await this.until(() => this.isLoaded, `${url} is loaded`);
	}

	// The value of an expression, which may be a promise.
	async eval(expression) {
		const { result, exceptionDetails } = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
		if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
		return result.value;
	}

	async until(is, what, ms = ANSWER_MS) {
		const end = Date.now() + ms;
		while (!(typeof is === "string" ? await this.eval(is) : is())) {
			if (Date.now() > end)
				throw new Error(`not in time: ${what ?? is}; the page says:\n${await this.eval("document.body?.innerText.slice(0, 1500)")}\n${this.faults.join("\n")}`);
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
	}

	async click(selector) {
		await this.eval(`document.querySelector(${JSON.stringify(selector)}).dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))`);
	}

	async key(key) {
		const text = key.length === 1 ? key : undefined;
		await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, text });
		await this.send("Input.dispatchKeyEvent", { type: "keyUp", key });
	}

	async size(width, height) {
		await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
	}

	async theme(value) {
		await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
	}

	async picture(file) {
		const { data } = await this.send("Page.captureScreenshot", { format: "png" });
		writeFileSync(file, Buffer.from(data, "base64"));
	}
}
