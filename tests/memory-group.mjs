// Control groups with memory limits, of version 1 or 2, for tests and benchmarks.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [one, two] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup"];
const controls = (what) => existsSync(join(two, "cgroup.subtree_control")) && readFileSync(join(two, "cgroup.subtree_control"), "utf8").split(/\s/).includes(what);
const version = existsSync(join(one, "memory.limit_in_bytes")) ? 1 : controls("memory") ? 2 : 0;

// The reason why groups cannot be used here, or undefined.
export const noGroups = process.getuid() !== 0 ? "this needs root" : version === 0 ? "there is no memory controller of control groups here" : undefined;

// A group for this process. `make` creates it; remove it after all processes have left it.
export function memoryGroup(name) {
    const folder = join(version === 1 ? one : two, `ggscope-${name}-${process.pid}`), slow = version === 1 ? folder.replace("/memory/", "/blkio/") : folder;
    const read = (file) => readFileSync(join(folder, file), "utf8"), write = (file, text) => writeFileSync(join(folder, file), text);
    const folders = [folder];
    return {
        make: () => void mkdirSync(folder, { recursive: true }),
        limit: (bytes) => (version === 1 ? write("memory.limit_in_bytes", String(bytes || -1)) : write("memory.max", String(bytes || "max"))), // 0: none
        // Limits reads of a device ("MAJOR:MINOR") to `bytes` per second; 0: no limit.
        throttle: (device, bytes) => {
            for (const made of [folder, slow]) mkdirSync(made, { recursive: true });
            if (slow !== folder) folders.push(slow);
            if (version === 1) writeFileSync(join(slow, "blkio.throttle.read_bps_device"), `${device} ${bytes}`);
            else write("io.max", `${device} rbps=${bytes || "max"}`);
        },
        // Shell words that move a shell into the group.
        enter: () => folders.map((made) => `echo $$ > "${join(made, "cgroup.procs")}";`).join(" "),
        killed: () => Number(/^oom_kill (\d+)$/m.exec(read(version === 1 ? "memory.oom_control" : "memory.events"))[1]),
        most: () => Number(read(version === 1 ? "memory.max_usage_in_bytes" : "memory.peak")),
        // A process that has ended may take a moment to leave.
        remove: () => {
            for (const made of folders) {
                for (let i = 0; i < 100 && existsSync(made); i++) {
                    try { rmdirSync(made); } catch { spawnSync("sleep", ["0.05"]); }
                }
            }
        },
    };
}
