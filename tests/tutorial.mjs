// Runs docs/tutorial.md like its reader: every command as it is written, in order, in one
// directory. A command that runs until Ctrl-C is started, and ended where the text says so.
import { after, test } from "node:test";
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build, root, run, scratch } from "./lib.mjs";
import { freePort } from "./server.mjs";

const page = readFileSync(join(root, "docs", "tutorial.md"), "utf8");
// [{ title, parts: [{ kind: "sh" | "text" | "prose", text }] }]
export const sections = page.split(/^## /m).slice(1).map((section) => ({
    title: section.slice(0, section.indexOf("\n")),
    parts: section.slice(section.indexOf("\n")).split(/^(```(?:sh|text)\n[^]*?^```\n)/m).filter((part) => part.trim() !== "").map((part) => {
        const [, kind, text] = /^```(sh|text)\n([^]*?)^```\n$/m.exec(part) ?? [null, "prose", part];
        return { kind, text };
    }),
}));

// Commands that run until Ctrl-C, and their ready messages.
const until = [[/^ggscope serve /, /http:\/\/\S+\/\s/], [/ llama-server /, /listening on http/]];
const words = (line) => line.replace(/[\d.,▏▎▍▌▋▊▉█]+/g, " ").replace(/\b(us|ms|ns|s|B|KiB|MiB|GiB|K|M)\b/g, " ").replace(/[-+]+ /g, " ").replace(/\s+/g, " ").trim();

// Adds a test for each command of the sections that `wanted` accepts. `meanwhile(said)` is called
// while a long-running command runs, with the command and its ready message.
export function follow({ wanted = () => true, path = [], meanwhile = async () => {} } = {}) {
    const directory = scratch("tutorial");
    mkdirSync(directory);
    const env = { ...process.env, PATH: [...path.map((program) => dirname(program)), join(build, "bin"), process.env.PATH].join(":"), NO_COLOR: "1" };
    let running = null, said = new Set(), quoted = [], port;
    after(() => running && process.kill(-running.child.pid, "SIGKILL"));

    async function start(command, ready) {
        const child = spawn("bash", ["-c", `exec ${command}`], { cwd: directory, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
        running = { child, command, text: "", ended: once(child, "close") };
        await new Promise((resolve, reject) => {
            for (const stream of [child.stdout, child.stderr])
                stream.setEncoding("utf8").on("data", (chunk) => {
                    running.text += chunk;
                    if (ready.test(running.text)) resolve();
                });
            child.on("close", (code) => reject(new Error(`${command} ended with ${code}: ${running.text}`)));
        });
    }
    async function interrupt() {
        const { child, command, ended } = running;
        child.kill("SIGINT"); // ggscope passes it on
        const [code, signal] = await ended;
        assert.deepEqual([command, code, signal], [command, 0, null]);
        running = null;
    }

    for (const { title, parts } of sections.filter((section) => wanted(section.title)))
        for (const { kind, text } of parts) {
            if (kind === "text") quoted.push(...text.trimEnd().split("\n").map(words).filter(Boolean));
            else if (kind === "prose" && /Ctrl-C/.test(text))
                test(`${title}: Ctrl-C`, async () => {
                    assert.ok(running, "something runs");
                    try {
                        await meanwhile(running.command, running.text);
                    } finally {
                        await interrupt();
                    }
                });
            if (kind !== "sh") continue;
            for (const line of text.trim().replaceAll(/\\\n\s*/g, "").split("\n"))
                test(line, async () => {
                    port ??= await freePort(); // port 8080 may be in use
                    const command = line.replaceAll("8080", port);
                    const stays = until.find(([which]) => which.test(command));
                    if (stays) return start(command, stays[1]);
                    const result = run("bash", ["-c", command], { cwd: directory, env });
                    assert.equal(result.status, 0, result.stderr);
                    if (/^ggscope (stats|log|experts|check|requests|top|bench|diff)/.test(command)) assert.ok(result.stdout.length > 100, result.stdout);
                    for (const one of result.stdout.split("\n")) said.add(words(one));
                });
        }
    test("what the tutorial quotes is what the commands say, numbers apart", () => {
        // Times decide the order of rows, the slowest ops and what counts as noise, so each quoted
        // line is searched on its own; most must be found.
        assert.ok(quoted.length >= 40);
        const missing = quoted.filter((line) => !said.has(line));
        assert.ok(missing.length <= quoted.length / 8, missing.join("\n"));
    });
}
