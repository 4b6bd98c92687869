// ggml's RPC backend and its server, built from the release's source against the stock libraries:
// two small programs, in seconds.
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ggscope, output, root, run } from "../lib.mjs";
import { engineOf, variant } from "../variant.mjs";
import { checkout, libraries, newest, release, sourceBundle } from "./node/recordings.mjs";

// The reason why it cannot be built here; "" if it can.
export const unusable = process.arch !== "x64" ? `the release's source bundle comes with libraries for x64, this is ${process.arch}`
    : run("sh", ["-c", "command -v g++"]).status !== 0 ? "there is no g++ to build the RPC backend with" : "";

// The folder of an engine with it: the stock libraries with one CPU variant, libggml-rpc.so and
// rpc-server.
export const buildRpc = () => engineOf(variant, buildWhole());

function buildWhole() {
    const folder = join(root, "build", "rpc"), source = join(folder, "source"), engine = join(folder, "engine");
    if (existsSync(join(engine, "rpc-server"))) return engine;
    checkout(sourceBundle(release(newest)), source, ["/ggml/include/", "/ggml/src/", "/tools/rpc/"]);
    rmSync(engine, { recursive: true, force: true });
    mkdirSync(engine, { recursive: true });
    const stock = libraries(release(newest));
    for (const file of readdirSync(stock).filter((name) => name.endsWith(".so"))) symlinkSync(join(stock, file), join(engine, file));
    const base = readdirSync(engine).find((name) => /^libggml\..*so$|^libggml\.so$/.test(name));
    const common = ["-O1", "-std=c++17", "-DNDEBUG", "-DGGML_SHARED", "-DGGML_BACKEND_SHARED", `-I${source}/ggml/include`, `-I${source}/ggml/src`, `-L${engine}`, "-Wl,-rpath,$ORIGIN"];
    const rpc = `${source}/ggml/src/ggml-rpc`;
    output("nice", ["g++", ...common, "-fPIC", "-shared", "-DGGML_BACKEND_DL", "-DGGML_BACKEND_BUILD", `${rpc}/ggml-rpc.cpp`, `${rpc}/transport.cpp`, "-o", join(engine, "libggml-rpc.so"), "-l:libggml-base.so", "-lpthread"]);
    output("nice", ["g++", ...common, `${source}/tools/rpc/rpc-server.cpp`, "-o", join(engine, "rpc-server.new"), `-l:${base}`, "-l:libggml-base.so", "-lpthread"]);
    output("mv", [join(engine, "rpc-server.new"), join(engine, "rpc-server")]);
    return engine;
}

// Servers are ended with the test, in any case.
const started = new Set();
process.on("exit", () => { for (const child of started) try { process.kill(-child.pid, "SIGKILL"); } catch { /* it is gone */ } });

// Starts an rpc-server, recorded into `directory` unless that is null. `before`: words in front of
// the command, for namespaces.
export async function startServer(engine, directory, { before = [], host = "127.0.0.1", port } = {}) {
    const command = [join(engine, "rpc-server"), "-H", host, "-p", String(port), "-t", "1"];
    const words = [...before, ...(directory === null ? [] : [ggscope, "record", "-q", "-o", directory, "--"]), ...command];
    const child = spawn(words[0], words.slice(1), { stdio: ["ignore", "pipe", "pipe"], detached: true });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => { said += data; });
    started.add(child);
    const ended = once(child, "exit").then(([status, signal]) => { started.delete(child); return { status, signal, said }; });
    for (let answers = false; !answers;) {
        if (child.exitCode !== null) throw new Error(said);
        answers = await new Promise((tell) => {
            const socket = connect(port, host).on("connect", () => { socket.destroy(); tell(true); }).on("error", () => tell(false));
        });
        if (!answers) await sleep(20);
    }
    return { child, ended, port, endpoint: `${host}:${port}` };
}

// The server's own process id, below ggscope and namespaces.
export const serverPid = (server, engine) => Number(output("pgrep", ["-g", String(server.child.pid), "-f", join(engine, "rpc-server") + " -H"]).trim().split("\n").at(-1));

// Relays everything with a delay in milliseconds, in both directions: a long wire.
export async function relay(host, port, delay) {
    const server = createServer((from) => {
        const to = connect(port, host);
        for (const [a, b] of [[from, to], [to, from]]) {
            a.setNoDelay(true);
            a.on("data", (data) => setTimeout(() => b.writable && b.write(data), delay));
            a.on("close", () => setTimeout(() => b.destroy(), delay));
            a.on("error", () => b.destroy());
        }
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    return { endpoint: `127.0.0.1:${server.address().port}`, close: () => server.close() };
}
