// Starts a ggscope serve for a test, and sends requests to it.
//
//     await browse([directory], async (get, server) => {
//         const answer = await get("/api/experiments"); ...
//     });
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { ggscope } from "./lib.mjs";

// A port of 127.0.0.1 that is free at the moment.
export async function freePort() {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address();
    server.close();
    await once(server, "close");
    return port;
}

// Starts it and returns { process, address }: all paths are below its address.
export async function serve(...args) {
    const process = spawn(ggscope, ["serve", ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const server = { process, stderr: "" };
    process.stderr.on("data", (data) => (server.stderr += data));
    const [line] = await Promise.race([once(process.stdout, "data"), once(process, "exit").then(() => { throw new Error(`serve ended: ${server.stderr}`); })]);
    server.address = new URL(String(line).trim());
    return server;
}

export async function stop(server, signal = "SIGINT") {
    const ended = once(server.process, "exit");
    server.process.kill(signal);
    assert.deepEqual(await ended, [0, null], server.stderr);
}

// The JSON of an answer that must exist, repeating the request while it is being computed.
export async function ask(server, path) {
    for (;;) {
        const answer = await fetch(new URL(`.${path}`, server.address));
        const body = await answer.text();
        if (answer.status === 202) continue;
        assert.equal(answer.status, 200, `${path}: ${body}`);
        return JSON.parse(body);
    }
}

export async function browse(args, look) {
    const server = await serve(...args);
    try {
        await look((path) => ask(server, path), server);
    } finally {
        await stop(server);
    }
}
