// Shared by the tests of page faults and block requests: what this machine permits, a cold model, a
// program with little memory.
import { mkdirSync } from "node:fs";
import { engine, ggscope, output, run, scratch } from "../lib.mjs";
import { memoryGroup, noGroups } from "../memory-group.mjs";

// The obstacle to a topic ("faults", "io") according to ggscope doctor; "" if there is none.
export function obstacle(topic) {
    const finding = JSON.parse(run(ggscope, ["doctor", "--json"]).stdout).checks.find((c) => c.topic === topic);
    return finding.level === "ok" ? "" : finding.text;
}

// Drops a file from the page cache. Mapped pages stay.
export function evict(path) {
    output("sync", [path]);
    output("dd", [`if=${path}`, "iflag=nocache", "count=0", "status=none"]);
}

// A memory cgroup with a limit, or the reason why there is none.
export function limit(bytes) {
    if (noGroups) return { reason: noGroups };
    const group = memoryGroup(`test-${bytes}`);
    group.make();
    group.limit(bytes);
    process.on("exit", group.remove);
    return { group };
}

// The command that runs the engine, in the group if one is given.
export function command(path, { group, tokens = 3, options = [] } = {}) {
    const plain = [engine, "run", "-m", path, "-p", "Once upon a time", "-n", String(tokens), "-t", "2", "--ignore-eos", ...options];
    return group ? ["sh", "-c", `${group.enter()} exec "$@"`, "sh", ...plain] : plain;
}

// A disk that can be read by sectors: a partition with ext4 on a loop device. Returns { folder,
// device } or a reason; removed when the test ends.
export function disk(t, megabytes) {
    const image = scratch("disk.img"), folder = scratch("mounted");
    const undo = [];
    t.after(() => { for (const [program, ...args] of undo) run(program, args); });
    const step = (program, ...args) => {
        const result = run("sh", ["-c", 'command -v "$1" >/dev/null || exit 99; "$@"', "sh", program, ...args]);
        if (result.status !== 0) throw new Error(`${program}: ${result.status === 99 ? "not installed" : result.stderr.trim()}`);
        return result.stdout.trim();
    };
    try {
        step("truncate", "-s", `${megabytes}M`, image);
        const device = step("losetup", "--partscan", "--find", "--show", image);
        undo.unshift(["losetup", "--detach", device]);
        step("addpart", device, "1", "2048", String(megabytes * 2048 - 4096));
        step("mkfs.ext4", "-q", `${device}p1`);
        mkdirSync(folder);
        step("mount", `${device}p1`, folder);
        undo.unshift(["umount", folder]);
        return { folder, device };
    } catch (error) {
        return { reason: `no disk of our own can be made: ${error.message}` };
    }
}

export const sum = (list, key) => list.reduce((total, row) => total + row[key], 0);
