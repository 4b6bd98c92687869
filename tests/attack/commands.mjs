// Every command that reads an experiment, for attacks on its files. {dir} is the experiment, {out}
// a path that does not exist yet.
import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ggscope, run } from "../lib.mjs";

export const commands = [
    ["stats", "{dir}"],
    ["stats", "--json", "{dir}"],
    ["stats", "--by", "tensor", "{dir}"],
    ["stats", "--by", "token", "--json", "{dir}"],
    ["log", "{dir}"],
    ["log", "--json", "{dir}"],
    ["log", "--csv", "{dir}"],
    ["graph", "{dir}"],
    ["graph", "--json", "{dir}"],
    ["graph", "--dot", "{dir}"],
    ["experts", "{dir}"],
    ["experts", "--json", "{dir}"],
    ["requests", "--costs", "--cells", "--batches", "{dir}"],
    ["requests", "--csv", "{dir}"],
    ["stats", "--by", "request,sequence,context", "--json", "{dir}"],
    ["stats", "--sequence", "0", "{dir}"],
    ["buffers", "{dir}"],
    ["buffers", "--json", "{dir}"],
    ["paging", "--json", "--readahead", "128K", "{dir}"],
    ["diff", "--json", "{dir}", "{dir}"],
    ["prove", "{dir}"],
    ["stats", "--by", "device,kernel,context", "{dir}"],
    ["log", "--faults", "{dir}"],
    ["log", "--faults", "--json", "{dir}"],
    ["sql", "{dir}", "select * from devices, windows; select * from requests; select * from faults; select * from kernels; select * from op_totals"],
    ["report", "{dir}", "-o", "{out}"],
    ...["json", "csv", "sqlite", "parquet", "chrome", "perfetto", "dot", "fio", "ggmlviz"]
        .map((format) => ["export", "--quiet", "--format", format, "{dir}", "-o", "{out}"]),
];

// A hash of everything that a command wrote to `path`: a file, or a folder with its contents.
function digest(path) {
    const hash = createHash("sha256");
    const add = (at, name) => {
        hash.update(name);
        if (lstatSync(at).isDirectory()) for (const entry of readdirSync(at).sort()) add(join(at, entry), `${name}/${entry}`);
        else hash.update(readFileSync(at));
    };
    if (existsSync(path)) add(path, "");
    return hash.digest("hex");
}

// Runs a command on `directory`. Returns what a user sees: { status, signal, stderr, result };
// `result` is stdout and the written files.
export function look(command, directory, out, options = {}) {
    rmSync(out, { recursive: true, force: true });
    const words = command.map((word) => word.replace("{dir}", directory).replace("{out}", out));
    const { status, signal, stdout, stderr } = run(options.program ?? ggscope, words, { timeout: 60_000, env: { ...process.env, COLUMNS: "80", NO_COLOR: "1" }, ...options });
    const result = createHash("sha256").update(stdout.replaceAll(directory, "DIR")).update(digest(out)).digest("hex");
    rmSync(out, { recursive: true, force: true });
    return { status, signal, stderr, stdout, result };
}
