// Ops on a Vulkan device: Mesa's software one, with the stock engine that engine/vulkan pins.
// The first run compiles shaders for about a minute; they are kept in build/.
import { test } from "node:test";
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { engine, ggscope, installed, model, output, root, run, scratch } from "../lib.mjs";

const drivers = "/usr/share/vulkan/icd.d";
const driver = existsSync(drivers) && readdirSync(drivers).find((name) => /^lvp_icd.*\.json$/.test(name));
const cache = join(root, "build", "shader-cache");

// Where there is no device, why; else the environment in which the engine finds it.
function look() {
    if (process.arch !== "x64") return "the pinned engine with Vulkan is for x86-64";
    if (!driver) return "no software Vulkan device (Debian: mesa-vulkan-drivers)";
    const folder = join(installed(join(root, "engine", "vulkan"), "engine-vulkan"), "node_modules", "@node-llama-cpp", "linux-x64-vulkan", "bins", "linux-x64-vulkan");
    mkdirSync(cache, { recursive: true });
    const path = join(drivers, driver);
    const env = { ...process.env, GGSCOPE_ENGINE: folder, GGML_VK_VISIBLE_DEVICES: "0", VK_DRIVER_FILES: path, VK_ICD_FILENAMES: path, MESA_SHADER_CACHE_DIR: cache };
    const probe = run(engine, ["run", "-m", model("tiny"), "-p", "x", "-n", "1", "--device", "none,"], { env });
    return /it has .*Vulkan0/.test(probe.stderr) ? env : `the engine finds no Vulkan device: ${probe.stderr.trim()}`;
}
const env = look();
const skip = typeof env === "string" ? env : false;
const maybe = (name, body) => test(name, { skip }, body);

const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);
const moe = () => model("tiny", "--arch", "qwen3moe", "--layers", "3", "--experts", "4", "--experts-used", "2");
const tokens = "5";
const cases = {
    "all layers of a dense model": { file: () => model("tiny"), options: ["-n", tokens, "-ngl", "99"] },
    "some layers of a dense model": { file: () => model("tiny"), options: ["-n", tokens, "-ngl", "10"] },
    "all layers of a mixture of experts": { file: moe, options: ["-n", tokens, "-ngl", "99"] },
};

// A recording of a case, and what the engine itself says about it. Made once.
const made = {};
function recorded(name) {
    if (made[name]) return made[name];
    const { file, options } = cases[name];
    const directory = scratch(`recording-${Object.keys(made).length}`);
    const args = ["-m", file(), "-p", "Once upon", "-t", "2", ...options, "--json", "--logits-hash"];
    const plain = JSON.parse(output(engine, ["run", ...args], { env }));
    const traced = JSON.parse(output(ggscope, ["run", ...args, "-q", "-o", directory], { env }));
    const table = (table) => {
        const rows = output(ggscope, ["export", "-f", "csv", "--table", table, "-q", "-o", "-", directory]).trim().split("\n");
        const keys = rows.shift().split(",");
        return rows.map((row) => Object.fromEntries(row.match(/("([^"]|"")*"|[^,]*)(,|$)/g).map((cell, i) => [keys[i], cell.replace(/,$/, "")])));
    };
    return (made[name] = { directory, plain, traced, table });
}
const stats = (name, ...options) => JSON.parse(output(ggscope, ["stats", "--json", ...options, recorded(name).directory]));

for (const name of Object.keys(cases)) {
    maybe(`${name}: logits are the same with and without recording`, () => {
        const { plain, traced } = recorded(name);
        assert.equal(traced.logits_hash, plain.logits_hash);
    });

    maybe(`${name}: every node is accounted for in every graph run`, () => {
        const runs = recorded(name).table("runs");
        const device = runs.filter((r) => r.backend === "Vulkan0");
        assert.equal(device.length, Number(tokens));
        for (const r of runs) {
            const n = (key) => Number(r[key]);
            assert.equal(n("executed") + n("absorbed") + n("empty") + n("skipped"), n("nodes"), JSON.stringify(r));
            assert.ok(n("unseen") === 0 && n("opaque") === 0 && n("lost") === 0 && n("cut") === 0, JSON.stringify(r));
        }
        for (const r of device) assert.ok(Number(r.executed) > 40 && Number(r.absorbed) > 0, JSON.stringify(r));
    });

    maybe(`${name}: ops fill their graph run and do not exceed it`, () => {
        const { table } = recorded(name);
        const ops = table("op_runs");
        const runs = table("runs").filter((r) => r.backend === "Vulkan0");
        const shares = runs.map((r) => {
            const mine = ops.filter((o) => o.run === r.run);
            for (const o of mine) {
                const begin = Number(o.begin_ns);
                assert.ok(begin >= Number(r.begin_ns) && begin + Number(o.duration_ns) <= Number(r.end_ns), JSON.stringify(o));
                assert.ok(Number(o.submit_ns) <= begin, JSON.stringify(o));
            }
            return mine.reduce((total, o) => total + Number(o.duration_ns), 0) / (Number(r.end_ns) - Number(r.begin_ns));
        });
        // The first runs with several tokens and with one wait until the engine has made its pipelines, and others where the machine is busy.
        assert.ok(shares.every((share) => share > 0.1 && share <= 1), `ops take ${shares} of their graph runs`);
        assert.ok(Math.max(...shares.slice(2)) >= 0.8, `ops take ${shares} of their graph runs`);
    });

    maybe(`${name}: speed is the engine's own`, () => {
        const { traced } = recorded(name);
        const own = traced.tokens_per_second;
        const seen = stats(name).tokens_per_second;
        assert.ok(Math.abs(seen / own - 1) < 0.2, `${seen} tokens/s, the engine says ${own}`);
    });

    maybe(`${name}: statistics name the device`, () => {
        const { by_op, by_device } = stats(name, "--by", "op,device");
        assert.ok(by_op.find((g) => g.op === "MUL_MAT").ops > 0);
        const vulkan = by_device.find((g) => g.device === "Vulkan0");
        assert.ok(vulkan.wall_ns > 0 && vulkan.ops > 100 && vulkan.bytes_read > 0);
        assert.ok(by_device.every((g) => g.backend === null), "nothing is seen as a whole only");
        assert.equal(sum(by_device, "ops"), sum(by_op, "ops"));
    });

    maybe(`${name}: check finds nothing wrong`, () => {
        const result = run(ggscope, ["check", recorded(name).directory]);
        assert.equal(result.status, 0, result.stdout);
        assert.doesNotMatch(result.stdout, /^(FAIL|warning)/m);
    });
}

maybe("the device is described, and its queue is a lane", () => {
    const { table } = recorded("all layers of a dense model");
    const device = table("devices").find((d) => d.name === "Vulkan0");
    assert.match(device.description, /llvmpipe/);
    assert.equal(device.type, "gpu");
    assert.equal(device.seen, "ops");
    assert.ok(Number(device.memory_bytes) > 0);
    const lane = table("lanes").find((l) => l.device === device.device);
    assert.equal(lane.kind, "queue");
});

// The backend times its ops itself with GGML_VK_PERF_LOGGER: "MUL_MAT_VEC q4_K m=256 ...: 44 x 2164.85 us = 95253.6 us" for each graph.
maybe("ops, and their times, are those that the backend itself counts", () => {
    const directory = scratch("logger");
    const args = ["run", "-m", model("tiny"), "-p", "Once upon", "-n", "3", "-t", "2", "-ngl", "99", "-q", "-o", directory];
    const { status, stdout, stderr } = run(ggscope, args, { env: { ...env, GGML_VK_PERF_LOGGER: "1" } });
    assert.equal(status, 0, stderr);
    const own = {};
    let time = 0;
    for (const [, label, count, us] of (stdout + stderr).matchAll(/^([A-Z_]+)\b.*: (\d+) x [\d.e+]+ us = ([\d.e+]+) us/gm)) {
        const op = ["MUL_MAT", "RMS_NORM", "ROPE"].find((head) => label.startsWith(head)) ?? label; // fused ones have the names of all
        own[op] = (own[op] ?? 0) + Number(count);
        time += 1000 * Number(us);
    }
    const all = JSON.parse(output(ggscope, ["stats", "--json", "--by", "op,device", directory]));
    const seen = Object.fromEntries(all.by_op.map((g) => [g.op, g.ops]));
    seen.GET_ROWS -= 3; // those of the embedding are on the CPU
    assert.deepEqual(seen, own);
    const ours = all.by_device.find((g) => g.device === "Vulkan0").wall_ns;
    assert.ok(Math.abs(ours / time - 1) < 0.05, `${ours} ns, the backend says ${time}`);
});
