// Shared by the benchmarks of streaming: one run of the engine with limited memory and disk speed,
// from a cold page cache.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { engine, ggscope, output } from "../lib.mjs";
import { memoryGroup, noGroups } from "../memory-group.mjs";

export const reason = noGroups;
const group = memoryGroup("stream");
const work = mkdtempSync(join(tmpdir(), "ggscope-stream-"));
export const file = (name) => join(work, name);
const HELD = 20; // ms: the program has started, and has not mapped or read its model
const restore = []; // settings to restore
process.on("exit", () => {
    if (child !== undefined) try { process.kill(-child.pid, "SIGKILL"); } catch { /* it has just ended */ }
    group.remove(); // the group is empty, so its files are unused
    for (const undo of restore) undo();
    rmSync(work, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

const deviceOf = (path) => output("stat", ["-c", "%Hd:%Ld", path]).trim();
const readaheadOf = (path) => `/sys/class/bdi/${deviceOf(path)}/read_ahead_kb`;

// KiB of readahead of a file's device; "?" if unknown.
export const readahead = (path) => { try { return readFileSync(readaheadOf(path), "utf8").trim(); } catch { return "?"; } };
const ahead = new Map(); // original settings, kept because the file may be gone at the end
restore.push(() => ahead.forEach((kib, setting) => existsSync(setting) && writeFileSync(setting, kib)));
export function setReadahead(path, kib) {
    const setting = readaheadOf(path);
    if (!ahead.has(setting)) ahead.set(setting, readahead(path));
    writeFileSync(setting, String(kib));
}

// Limits reads of a file's device to this many bytes per second; 0: no limit.
let held = false;
export function setDisk(path, bytes) {
    process.env.XDG_CACHE_HOME = file(`cache-${bytes}`); // the library remembers its first measurement of the disk
    if (held || bytes > 0) group.throttle(deviceOf(path), bytes);
    held ||= bytes > 0;
}

// Copies files to a disk faster than this machine's: a file system on a loop device over memory.
// Its transfers take CPU time, about 0.1 ms per MiB.
export function inMemory(paths) {
    const [memory, disk] = [file("memory"), file("disk")], bytes = paths.reduce((sum, path) => sum + statSync(path).size, 0) * 1.1 + (64 << 20);
    for (const folder of [memory, disk]) mkdirSync(folder);
    const call = (...words) => { const result = spawnSync(words[0], words.slice(1), { encoding: "utf8" }); if (result.status !== 0) throw new Error(`${words.join(" ")}: ${result.stderr}`); return result.stdout.trim(); };
    call("mount", "-t", "tmpfs", "-o", "huge=always", "tmpfs", memory);
    restore.unshift(() => call("umount", memory));
    call("truncate", "-s", String(Math.ceil(bytes)), join(memory, "image"));
    const device = call("losetup", "-f", "--show", join(memory, "image"));
    restore.unshift(() => call("losetup", "-d", device));
    call("mkfs.ext4", "-q", "-m", "0", "-E", "nodiscard", device);
    call("mount", device, disk);
    restore.unshift(() => call("umount", disk));
    return paths.map((path) => { call("cp", path, disk); return join(disk, basename(path)); });
}

let threads = 2;
export const setThreads = (n) => void (threads = n);
export const command = (path, tokens) => [engine, "run", "-m", path, "-p", "Once upon a time, in a land far away", "-n", String(tokens), "-t", String(threads), "--no-repack", "--ignore-eos"];

// Drops files from the page cache: pages left by one run are charged to the control group of the
// next.
export const drop = (...paths) => output("python3", ["-c", "import os,sys\nfor path in sys.argv[1:]:\n    f=os.open(path,os.O_RDONLY)\n    os.posix_fadvise(f,0,0,os.POSIX_FADV_DONTNEED)", ...paths]);

// If the host reclaims free memory, touching memory that was unused for a while is slow. A program
// that holds this much memory and frees it just after another has started makes it as cheap as on a
// machine of its own.
async function hold(bytes) {
    const words = "import mmap,sys\nm=mmap.mmap(-1,int(sys.argv[1]),flags=mmap.MAP_PRIVATE|mmap.MAP_ANONYMOUS)\nm.madvise(mmap.MADV_HUGEPAGE)\nfor at in range(0,len(m),4096): m[at]=1\nprint(flush=True)\nsys.stdin.read()";
    const holder = spawn("python3", ["-c", words, String(bytes)], { stdio: ["pipe", "pipe", "inherit"] });
    await once(holder.stdout, "data");
    return holder;
}

// One run: ms per token (median), of the prompt and of the whole command, bytes read per token over
// the whole run, and the hash of its logits. `limit` 0: none. `used`: bytes of memory in use until
// just before.
// Asynchronous, so that signals are handled meanwhile and settings are restored.
let child;
export async function measure(path, tokens, limit, streamed, used = 0) {
    drop(path);
    const holder = used > 0 ? await hold(used) : undefined;
    group.make();
    group.limit(limit);
    const report = file("report.json"), io = file("io");
    const before = streamed ? [ggscope, "stream", "-q", "--no-history", "--report", report, "--"] : [];
    const enter = `${group.enter()} "$@"; status=$?; cat /proc/$$/io > "${io}"; exit $status`, outputs = { stdout: "", stderr: "" };
    const began = process.hrtime.bigint();
    child = spawn("sh", ["-c", enter, "sh", ...before, ...command(path, tokens), "--json", "--logits-hash"], { stdio: ["ignore", "pipe", "pipe"], timeout: 900_000, detached: true });
    for (const name of ["stdout", "stderr"]) child[name].setEncoding("utf8").on("data", (text) => (outputs[name] += text));
    if (holder) setTimeout(() => holder.stdin.end(), HELD);
    const [status, signal] = await once(child, "close");
    child = undefined;
    const wall = Number(process.hrtime.bigint() - began) / 1e6;
    group.limit(0);
    if (status !== 0) return { failed: `${status ?? signal} ${outputs.stderr.trim().split("\n").at(-1)}` };
    const said = JSON.parse(outputs.stdout);
    // The kernel adds the bytes read by a process to its parent's account when it ends.
    const read = Number(/^read_bytes: (\d+)/m.exec(readFileSync(io, "utf8"))[1]);
    return { wall, ms: said.generate_median_ns / 1e6, prompt: said.prompt_ns / 1e6, first: (said.load_ns + said.prompt_ns) / 1e6, read: read / tokens, hash: said.logits_hash, counts: streamed ? JSON.parse(readFileSync(report, "utf8")) : undefined };
}
