// Problems that were planted with their rules: pages, barriers, shifts, builds of the engine,
// devices.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ggscope, model, output, run } from "../lib.mjs";
import { noLimit, ownFolder, ownModel } from "../engine/pressure.mjs";
import { memoryGroup, noGroups } from "../memory-group.mjs";
import * as vulkan from "./vulkan.mjs";
import { cores, planted, record, runner, small } from "./plant.mjs";

const shape = ["--embd", "1024", "--ff", "2816", "--layers", "16", "--heads", "16", "--kv-heads", "4"];

// Beside a program that has most of the memory of their common group.
export function underPressure(directory) {
    if (noGroups) return { skip: noGroups };
    const group = memoryGroup("diagnosis"), path = ownModel("tiny", ...shape), MIB = 1 << 20;
    group.make();
    group.limit(260 * MIB);
    const hog = spawn("sh", ["-c", `${group.enter()} exec node -e 'const b = Buffer.alloc(${150 * MIB}, 1); setInterval(() => b.fill(2), 100)'`], { stdio: "ignore" });
    try {
        output("sh", ["-c", `${group.enter()} exec "$@"`, "sh", ggscope, "record", "-q", "--force", "--cold", "-o", directory, "--", ...runner(path, "--no-repack"), "-p", "Once", "-n", "6"]);
    } finally {
        hog.kill("SIGKILL");
        group.remove();
    }
}

// Runs `work` while the machine has swap: its own, or a file that is removed afterwards.
function withSwap(work) {
    const used = readFileSync("/proc/swaps", "utf8").trim().split("\n").length > 1, file = join(ownFolder(), "swap");
    if (used) return work();
    writeFileSync(file, "");
    chmodSync(file, 0o600);
    try {
        const made = run("sh", ["-c", 'fallocate -l 1G "$1" && mkswap "$1" && swapon "$1"', "sh", file]);
        return made.status === 0 ? work() : { skip: `no swap can be made here: ${made.stderr.trim().split("\n").at(-1)}` };
    } finally {
        run("swapoff", [file]);
        rmSync(file, { force: true });
    }
}

// A model that is read into memory, above the limit of its group, which may swap.
function swapped(directory) {
    if (noGroups) return { skip: noGroups };
    const group = memoryGroup("swap"), path = ownModel("tiny", ...shape, "--types", "f16");
    return withSwap(() => {
        group.make();
        group.limit(220 << 20);
        try {
            output("sh", ["-c", `${group.enter()} exec "$@"`, "sh", ggscope, "record", "-q", "--force", "-o", directory, "--", ...runner(path, "--no-mmap", "-t", String(cores)), "-p", "Once", "-n", "4"]);
        } finally {
            group.remove();
        }
    });
}

// A sanitizer's runtime in the process, as a program has that is built with it.
function sanitized(directory) {
    const runtime = run("gcc", ["-print-file-name=libasan.so"]).stdout.trim();
    if (!existsSync(runtime)) return { skip: "gcc has no libasan" };
    record(directory, [...runner(small(), "-t", "1"), "-p", "Once", "-n", "4"], { env: { LD_PRELOAD: runtime, ASAN_OPTIONS: "detect_leaks=0:verify_asan_link_order=0" } });
}

// A model above its limit of memory, on a disk whose readahead is that of most kernels.
function smallReadahead(directory) {
    const reason = noLimit(), path = ownModel("tiny", ...shape);
    if (reason) return { skip: reason };
    record(directory, [...runner(path, "--no-repack"), "-p", "Once", "-n", "6"], { options: ["--memory", "100M"] });
    const { readahead_bytes: readahead } = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).conditions.storage;
    return readahead > 0 && readahead < 512 << 10 ? { readahead } : { skip: `the disk's readahead is ${readahead} bytes` };
}

// Times of the program itself, unrecorded, in ms: of a token (as it tells), of the whole run.
const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const thrice = (measure) => median([measure(), measure(), measure()]);
const tokenTime = (command) => thrice(() => Number(/^generate .*?([\d.]+) ms per token/m.exec(run(command[0], command.slice(1)).stderr)[1]));
const wholeTime = (command) => thrice(() => {
    const begin = performance.now();
    output(command[0], command.slice(1));
    return performance.now() - begin;
});

// How small ops must be for one thread to be faster than several depends on the processor.
function smallOps(directory) {
    if (cores < 2) return { skip: "there is one core" };
    const seen = [];
    for (const [embd, layers] of [[64, 8], [64, 32], [32, 32]]) {
        const command = (threads) => [...runner(model("tiny", "--embd", `${embd}`, "--ff", `${2 * embd}`, "--heads", "2", "--kv-heads", "2", "--layers", `${layers}`), "-t", `${threads}`), "-p", "Once", "-n", "64"];
        const times = [1, cores].map((threads) => tokenTime(command(threads)));
        if (times[0] < 0.8 * times[1]) return void record(directory, command(cores));
        seen.push(times.join(" and "));
    }
    return { skip: `one thread is not faster here: a token takes ${seen.join(", ")} ms on 1 and ${cores}` };
}

// A model so large that repacking it takes a while here.
function shortRun(directory) {
    const seen = [];
    for (const layers of [16, 48, 96]) {
        const command = [...runner(model("tiny", ...shape, "--layers", `${layers}`, "--types", "q4_0")), "-p", "Once", "-n", "1"];
        seen.push(Math.round(wholeTime(command) - wholeTime([...command, "--no-repack"])));
        if (seen.at(-1) > 300) return void record(directory, command);
    }
    return { skip: `repacking takes ${seen.join(", ")} ms here` };
}

// A repacked copy of 200 MiB, and tokens for some seconds.
function smallPages(directory) {
    const choice = "/sys/kernel/mm/transparent_hugepage/enabled", chosen = existsSync(choice) && /\[(\w+)\]/.exec(readFileSync(choice, "utf8"))?.[1];
    if (chosen !== "madvise") return { skip: `the kernel's choice for huge pages is ${chosen || "not known"}, not madvise` };
    record(directory, [...runner(model("tiny", ...shape, "--layers", "32", "--types", "q4_0")), "-p", "Once", "-n", "1000"]);
    const { mappings } = JSON.parse(readFileSync(join(directory, "experiment.json"), "utf8")).conditions.memory;
    const copy = Math.max(...(mappings ?? []).map((one) => one.resident_bytes));
    return mappings?.some((one) => one.huge_bytes > copy / 2) ? { skip: "the copy is in huge pages" } : { copy };
}

export const more = [
    {
        name: "small-readahead", number: null, finding: "small-readahead", figure: (truth) => truth.readahead, remedy: /blockdev --setra/,
        also: ["page-waits", "cold-cache", "too-few-threads", "weights-not-repacked", "between-decodes", "decode-overhead"], make: smallReadahead,
    },
    { name: "first-use", number: null, finding: "first-use", remedy: /second/, also: ["software-device", "device-splits", "slow-device", "device-waits", "output-layer"], make: vulkan.shaders },
    {
        name: "context-shifts", number: null, finding: "context-shifts", figure: (truth) => truth.shifts, remedy: /n_ctx/, also: ["too-few-threads", "cold-cache", "kv-reads"],
        make: (directory) => planted(directory, "shift", "-t", "1"),
    },
    {
        name: "small-ops", number: null, finding: "small-ops", remedy: new RegExp(cores > 3 ? "-t" : "-t 1\\b"), quiet: true,
        make: smallOps,
    },
    {
        name: "repack-of-a-short-run", number: null, finding: "repack-costs", remedy: /--no-repack/, quiet: true, also: ["cold-cache", "output-layer"],
        make: shortRun,
    },
    {
        name: "graphs-built-each-token", number: null, finding: "decode-overhead", remedy: /LLAMA_GRAPH_REUSE_DISABLE/, quiet: true, also: ["too-few-threads", "between-decodes", "output-layer", "cold-cache"],
        make: (directory) => void record(directory, [...runner(model("tiny", "--embd", "64", "--ff", "128", "--heads", "2", "--kv-heads", "2", "--layers", "32"), "-t", "1"), "-p", "Once", "-n", "64"], { env: { LLAMA_GRAPH_REUSE_DISABLE: "1" } }),
    },
    {
        name: "swapped-out", number: null, finding: "swapped-out", remedy: /mlock|smaller/, make: swapped,
        also: ["page-waits", "cold-cache", "no-mmap", "too-few-threads", "between-decodes", "decode-overhead", "wide-weights", "uneven-work", "output-layer"],
    },
    { name: "small-pages", number: null, finding: "small-pages", figure: (truth) => truth.copy, remedy: /hugetlb=1/, also: ["output-layer", "kv-reads", "cold-cache"], make: smallPages },
    { name: "sanitizer", number: null, finding: "engine-build", figure: 2, remedy: /Release/, also: ["too-few-threads", "between-decodes", "decode-overhead", "cold-cache"], make: sanitized },
];
