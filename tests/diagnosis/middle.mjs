// The other planted problems of the list of 28, and similar ones.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, ggscope, model, output } from "../lib.mjs";
import { noLimit, ownModel, warm } from "../engine/pressure.mjs";
import { underPressure } from "./more.mjs";
import * as vulkan from "./vulkan.mjs";
import { cores, hosted, middle, planted, record, runner, small } from "./plant.mjs";

// Keeps half of the CPUs busy while `work` runs.
function beside(work) {
    const hogs = Array.from({ length: Math.ceil(cores / 2) }, () => spawn("sh", ["-c", "while :; do :; done"], { stdio: "ignore" }));
    try { return work(); } finally { for (const hog of hogs) hog.kill("SIGKILL"); }
}

// A command in a control group (version 1 or 2) with `share` of one CPU; or the reason why that is
// impossible.
function quota(share, work) {
    const [one, two] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"], name = `ggscope-diagnosis-${process.pid}`;
    const first = existsSync(join(one, "cpu.cfs_quota_us")), control = join(two, "cgroup.subtree_control");
    if (process.getuid() !== 0) return { skip: "a CPU quota needs root" };
    if (!first && !(existsSync(control) && readFileSync(control, "utf8").split(/\s/).includes("cpu"))) return { skip: "there is no CPU controller of control groups here" };
    const folder = join(first ? one : two, name);
    mkdirSync(folder);
    try {
        if (first) writeFileSync(join(folder, "cpu.cfs_quota_us"), String(100000 * share));
        else writeFileSync(join(folder, "cpu.max"), `${100000 * share} 100000`);
        work(folder);
    } finally {
        for (let i = 0; i < 100 && existsSync(folder); i++) try { rmdirSync(folder); } catch { spawnSync("sleep", ["0.05"]); }
    }
}

// The first CPU that this process may use.
const oneCpu = () => /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))[1];

const big = () => model("tiny", "--embd", "1024", "--ff", "2816", "--layers", "16", "--heads", "16", "--kv-heads", "4");

export const rest = [
    {
        name: "another-program", number: 3, finding: "other-programs", remedy: /end them/,
        make: (directory) => beside(() => void record(directory, runner(middle()))),
    },
    {
        name: "model-above-memory", number: 4, finding: "page-waits", remedy: /stream|memory/, also: ["cold-cache", "too-few-threads", "weights-not-repacked", "between-decodes", "decode-overhead", "small-readahead"],
        make: (directory) => {
            const reason = noLimit(), path = ownModel("tiny", "--embd", "1024", "--ff", "2816", "--layers", "16", "--heads", "16", "--kv-heads", "4");
            return reason ? { skip: reason } : void record(directory, [...runner(path, "--no-repack"), "-p", "Once", "-n", "6"], { options: ["--memory", "100M"] });
        },
    },
    {
        name: "cold-cache", number: 5, finding: "cold-cache", remedy: /again|mlock/, also: ["page-waits"],
        make: (directory) => void record(directory, runner(ownModel("tiny", "--embd", "1024", "--ff", "2816", "--layers", "16", "--heads", "16", "--kv-heads", "4")), { options: ["--cold"] }),
    },
    {
        name: "output-layer", number: 11, finding: "output-layer", remedy: /output-tensor-type/, mended: () => runner(model("tiny", "--embd", "512", "--layers", "2", "--types", "default=q4_0,output=q4_K")),
        make: (directory) => void record(directory, runner(model("tiny", "--embd", "512", "--layers", "2", "--types", "default=q4_0,output=q8_0"))),
    },
    {
        name: "no-mmap", number: 15, finding: "no-mmap", remedy: /without --no-mmap/, also: ["cold-cache"],
        make: (directory) => (warm(big()), void record(directory, runner(big(), "--no-mmap"))),
    },
    {
        name: "long-context", number: 16, finding: "kv-reads", remedy: /q8_0/, also: ["output-layer"],
        make: (directory) => void record(directory, [...runner(model("tiny", "--layers", "4", "--kv-heads", "32", "--heads", "32"), "--ctx", "4096"), "-p", "one two three four five six seven eight nine ten ".repeat(300), "-n", "24"]),
    },
    { name: "one-slot", number: 17, finding: "one-slot", figure: 5, remedy: /n_seq_max|-np/, make: (directory) => planted(directory, "queue", "-t", "1") },
    {
        name: "prompt-cache-missed", number: 18, finding: "prompt-recomputed", remedy: /end of the prompt/, also: ["one-slot"],
        figure: (truth) => truth.recomputed, mended: () => hosted("hit", "-t", "1"), make: (directory) => planted(directory, "miss", "-t", "1"),
    },
    { name: "memory-pressure", number: 19, finding: "page-waits", remedy: /stream|memory/, also: ["cold-cache", "too-few-threads", "weights-not-repacked", "between-decodes", "decode-overhead", "small-readahead"], make: underPressure },
    { name: "steal", number: 20, finding: "steal", make: () => ({ skip: "only the hypervisor can take CPUs away: tests/unit/test-explain.c has figures of it" }) },
    {
        name: "cpu-quota", number: 21, finding: "cpu-quota", figure: 0.2, remedy: /quota/, also: ["threads-above-cores"],
        make: (directory) => quota(0.2, (folder) => void output("sh", ["-c", `echo $$ > ${folder}/cgroup.procs; exec "$@"`, "sh", ggscope, "record", "-q", "--force", "-o", directory, "--", ...runner(small()), "-n", "12"])),
    },
    {
        name: "one-core-by-affinity", number: 22, finding: "threads-above-cores", figure: 2, remedy: /-t 1\b/,
        make: (directory) => void record(directory, ["taskset", "-c", oneCpu(), ...runner(small(), "-t", "2"), "-p", "Once", "-n", "6"]),
    },
    { name: "logits-of-the-prompt", number: 23, finding: "prompt-outputs", figure: 160, remedy: /logits/, mended: () => hosted("healthy", "-t", String(cores)), make: (directory) => planted(directory, "logits", "-t", String(cores)) },
    {
        name: "context-unused", number: 24, finding: "context-unused", remedy: /--ctx/, figure: undefined,
        make: (directory) => void record(directory, [...runner(model("tiny", "--heads", "32", "--kv-heads", "32"), "--ctx", "65536"), "-p", "Once", "-n", "12"]),
    },
    { name: "no-device", number: 28, finding: "no-device", remedy: /doctor/, make: (directory) => void record(directory, runner(small(), "-ngl", "99")) },
    {
        name: "draft-that-costs", number: 26, finding: "drafts-cost", remedy: /draft/, also: ["between-decodes", "one-slot", "small-batches", "decode-overhead", "too-few-threads", "output-layer"],
        make: (directory) => void record(directory, [join(build, "tests", "server-host"), "draft", small(), middle()]),
    },
    { name: "recorded-with-prove", number: null, finding: "distorted-times", figure: 1, remedy: /without --prove/, also: ["too-few-threads", "decode-overhead", "between-decodes", "weights-not-repacked", "uneven-work"],
      make: (directory) => void record(directory, [...runner(small(), "-t", "1"), "-p", "Once", "-n", "2"], { options: ["--prove"] }) },
    { name: "software-device", number: 12, finding: "software-device", remedy: /-ngl 0/, also: ["first-use", "device-splits", "slow-device", "device-waits", "output-layer"], make: vulkan.layers },
    { name: "experts-beside-a-device", number: 13, finding: "device-splits", remedy: /fewer layers of experts.*-ot/, also: ["software-device", "first-use", "slow-device", "device-waits", "output-layer"], make: vulkan.experts },
];
