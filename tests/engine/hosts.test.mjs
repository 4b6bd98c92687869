// Programs that fork, start others, make hundreds of threads, load and unload libraries, or have a
// ggml of their own. None of them notices the capture library, and the trace is right or missing
// with a reason.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { engine, ggscope, model, output, run, scratch } from "../lib.mjs";
import { check, fresh, generate, graphs, host, jsonLines, library, record, rows, stats, steps, told } from "./traces.mjs";
import { wholeEngine } from "../variant.mjs";

const tiny = model("tiny");
const small = model("tiny", "--layers", "2");
const distinct = (array) => [...new Set(array)];
const sum = (array) => array.reduce((a, b) => a + b, 0);
const plainSteps = (directory) => steps(directory).map(({ context, phase, tokens, positions, sequences, outputs }) => ({ context, phase, tokens, positions, sequences, outputs }));
const available = (program) => { try { return run(program, ["--version"]).status === 0; } catch { return false; } };
const where = jsonLines(output(engine, ["run", "-m", small, "-p", "x", "-n", "1", "-t", "1", "--json"]))[0].engine.directory;

function complete(directory) {
    const { runs } = rows(directory, "runs");
    for (const r of runs) assert.deepEqual([r.unseen, r.cut, r.lost, r.opaque, r.flags], [0, 0, 0, 0, 0]);
    check(directory);
    return runs;
}

// ---- processes ----

test("fork without exec: the child computes on, the parent's trace is the parent's", () => {
    const parent = (text) => { // without the child's output
        const lines = text.split("\n"), begin = lines.findIndex((l) => l.includes('"child"')), end = lines.findIndex((l) => l.includes('"child_status"'));
        return { own: [...lines.slice(0, begin), ...lines.slice(end)].join("\n"), child: lines.slice(begin + 1, end).join("\n") };
    };
    const plain = parent(output(host, ["fork", tiny]));
    const { directory, stdout, stderr } = record([host, "fork", tiny]);
    const recorded = parent(stdout);
    assert.deepEqual(recorded, plain, "both computed what they compute alone");
    assert.equal(told(recorded.child).length, 3);
    assert.deepEqual(plainSteps(directory), told(recorded.own));
    assert.equal(complete(directory).length, 3);
    const { processes } = rows(directory, "processes");
    assert.deepEqual(processes.map((p) => p.ended), [1]);
    assert.equal(stderr.includes("ggscope"), false);
});

test("programs that it starts have nothing of ours in their environment", () => {
    const environment = (text) => text.split("\n").filter((line) => line !== "" && !/^(\{|_=)/.test(line)).sort();
    const { directory, stdout } = record([host, "children", small]);
    assert.deepEqual(environment(stdout), environment(output(host, ["children", small])));
    assert.doesNotMatch(stdout, /^(LD_PRELOAD|GGSCOPE_(OUTPUT|SPOOL|MAX_SIZE|POLICY|FOLLOW))=/m);
    assert.equal(complete(directory).length, 3);
});

test("without the CLI: LD_PRELOAD and GGSCOPE_OUTPUT alone, then seal", () => {
    const directory = fresh();
    const stdout = output(host, ["generate", tiny], { env: { ...process.env, LD_PRELOAD: library, GGSCOPE_OUTPUT: directory } });
    output(ggscope, ["seal", directory]);
    assert.deepEqual(plainSteps(directory), told(stdout));
    assert.equal(complete(directory).length, 3);
    assert.equal(stdout, output(host, ["generate", tiny]));
});

// ---- threads ----

test("threads that are made anew for every graph stay in the lanes of their numbers", () => {
    const { directory, stdout } = record([host, "generate", "-t", "2", "-g", "8", small]); // without a thread pool
    const runs = complete(directory);
    const { op_runs, losses } = rows(directory, "op_runs", "losses");
    assert.equal(runs.length, 9);
    assert.deepEqual(losses, []);
    assert.equal(op_runs.length, 2 * sum(runs.map((r) => r.executed)));
    assert.deepEqual(distinct(op_runs.map((o) => o.thread)).sort(), [0, 1]);
    for (const r of runs) assert.equal(distinct(op_runs.filter((o) => o.run === r.run).map((o) => `${o.thread} ${o.os_thread}`)).length, 2);
    // Thread 0 is the program's own; the others are many, one after another.
    assert.equal(distinct(op_runs.filter((o) => o.thread === 0).map((o) => o.os_thread)).length, 1);
    assert.ok(distinct(op_runs.filter((o) => o.thread > 0).map((o) => o.os_thread)).length > 2);
    assert.deepEqual(plainSteps(directory), told(stdout));
});

// ---- features of the engine ----

test("a program's own eval callback sees what it saw; its pieces are linked to their schedule and step", () => {
    const plain = output(host, ["generate", "-c", tiny]);
    const { directory, stdout } = record([host, "generate", "-c", tiny]);
    assert.equal(stdout, plain);
    const { runs, schedules } = rows(directory, "runs", "schedules");
    const graph = graphs(directory);
    const lines = jsonLines(stdout);
    const observed = [];
    for (const line of lines) {
        if (line.decode) observed.push([]);
        if (line.node !== undefined) observed.at(-1).push([line.op, line.node]);
    }
    assert.equal(schedules.length, 3);
    assert.deepEqual(plainSteps(directory), told(stdout));
    schedules.forEach((schedule, i) => {
        const pieces = runs.filter((r) => r.schedule === schedule.schedule);
        assert.equal(schedule.nodes, observed[i].length);
        assert.equal(sum(pieces.map((r) => r.nodes)), schedule.nodes);
        assert.deepEqual(pieces.flatMap((r) => graph.get(r.graph).map((n) => [n.op, n.name])), observed[i]);
        assert.deepEqual(distinct(pieces.map((r) => r.step)), [i]);
    });
    assert.equal(stats(directory).tokens, 3);
    complete(directory);
});

for (const mode of ["reopen", "reopen-other"]) {
    test(`${mode}: a backend that is closed and ${mode === "reopen" ? "opened again" : "followed by another"} is recorded before and after`, (t) => {
        const options = { env: { ...process.env, GGSCOPE_ENGINE: wholeEngine } }; // which has another
        const plain = output(host, [mode, tiny], options);
        const { directory, stdout } = record([host, mode, tiny], options);
        assert.equal(stdout, plain);
        assert.equal(rows(directory, "runs").runs.length, 6);
        const found = steps(directory);
        assert.deepEqual(found.map((s) => s.phase), ["PROMPT", "GENERATE", "GENERATE", "PROMPT", "GENERATE", "GENERATE"]);
        assert.deepEqual(found.map((s) => s.tokens), told(stdout).map((d) => d.tokens));
        complete(directory);
        if (!jsonLines(stdout).some((line) => line.gone === 1)) t.diagnostic("the library stayed in memory although it was closed");
    });
}

// The engine computes at most 512 tokens per graph: 513 are two graphs of one prompt.
for (const [tokens, graphRuns] of [[5, [1, 1, 1]], [513, [2, 1, 1]]]) {
    test(`calls through dlsym (Python's ctypes), ${tokens} prompt tokens: steps, tokens and positions are found in the graphs`, { skip: available("python3") ? false : "python3 is missing" }, () => {
        const script = join(dirname(fileURLToPath(import.meta.url)), "ctypes-host.py");
        const { directory, stdout } = record(["python3", script, where, small, output(host, ["sizes"]).trim(), String(tokens)]);
        const fed = jsonLines(stdout);
        assert.equal(fed.length, 3);
        const found = steps(directory);
        assert.deepEqual(found.map((s) => ({ decode: s.phase, tokens: s.tokens, positions: s.positions })), fed);
        assert.deepEqual(found.map((s) => s.runs), graphRuns);
        const { decodes } = rows(directory, "decodes");
        assert.deepEqual(decodes, [], "llama_decode was not seen");
        complete(directory);
    });
}

test("values of a program whose calls go through dlsym: its tokens are the same", { skip: available("python3") ? false : "python3 is missing" }, () => {
    const script = join(dirname(fileURLToPath(import.meta.url)), "ctypes-host.py"), words = [script, where, small, output(host, ["sizes"]).trim(), "5"];
    const directory = fresh(), told = output(ggscope, ["record", "-q", "--no-faults", "--values", "-o", directory, "--", "python3", ...words]);
    assert.equal(told, output("python3", words));
    const { rows: found } = JSON.parse(output(ggscope, ["sql", "--json", directory, "select what, count(*), max(position) from op_values group by 1 order by 1"]));
    const tensors = JSON.parse(output(ggscope, ["gguf", "--json", small])).tensors.length;
    assert.deepEqual(found.filter(([what]) => what !== "input").map(([what, n, position]) => [what, what === "weight" ? n : n > 100, position]), [["output", true, 6], ["weight", tensors, null]]);
});

// Like llama.cpp's start-up code: the tokens that begin and end a text, then token 0 twice.
test("calls through dlsym: what programs compute at their start is a warm-up, though its clearing is not seen; another text of two tokens is none", { skip: available("python3") ? false : "python3 is missing" }, () => {
    const script = join(dirname(fileURLToPath(import.meta.url)), "ctypes-host.py");
    const { directory, stdout } = record(["python3", script, where, small, output(host, ["sizes"]).trim(), "5", "[[1,2],[0,0],[2,1],[1,2]]"]);
    const { requests } = JSON.parse(output(ggscope, ["requests", "--json", directory]));
    assert.deepEqual(requests.map((r) => [r.kind, r.prompt_tokens, r.generated_tokens]),
        [["warmup", 2, 0], ["warmup", 2, 0], ["completion", 2, 1], ["completion", 2, 1], ["completion", 5, 3]]);
    assert.deepEqual(steps(directory).filter((s) => s.phase !== "WARMUP").slice(2).map((s) => s.tokens), jsonLines(stdout).map((d) => d.tokens));
    complete(directory);
});

test("a decode that the program stops half-way is cut off, not unseen; one that is refused feeds nothing", () => {
    const { directory, stdout } = record([host, "stop", "-n", "100", tiny]);
    const { runs, op_runs } = rows(directory, "runs", "op_runs");
    assert.deepEqual(jsonLines(stdout).flatMap((l) => [l.stopped, l.refused]).filter((x) => x !== undefined), [2, -1]);
    assert.equal(runs.length, 5);
    assert.equal(op_runs.filter((o) => o.run === 1).length, 100);
    assert.ok(runs[0].cut > 0 && runs[0].status !== 0);
    for (const r of runs) assert.equal(r.unseen, 0);
    for (const r of runs.slice(1)) assert.deepEqual([r.cut, r.status], [0, 0]);
    assert.deepEqual(plainSteps(directory).slice(-4), told(stdout));
    check(directory);
});

// ---- a ggml with another layout ----

const otherGgml = `
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
struct tensor { int32_t type; void * buffer; int64_t NEW; int64_t ne[4]; size_t nb[4]; int32_t op; int32_t op_params[16]; int32_t flags;
                struct tensor * src[10]; struct tensor * view_src; size_t view_offs; void * data; char name[64]; };
struct params { size_t size; void * memory; bool no_alloc; };
static struct tensor tensors[4];
static int n;
static float values[8192];
void * ggml_init(struct params p) { return p.memory ? p.memory : &n; }
void ggml_free(void * c) { n = 0; }
struct tensor * ggml_new_tensor_4d(void * c, int type, int64_t a, int64_t b, int64_t d, int64_t e) {
    struct tensor * t = &tensors[n++ % 4];
    *t = (struct tensor){.type = type, .ne = {a, b, d, e}, .nb = {4, 4 * a, 4 * a * b, 4 * a * b * d}, .data = values};
    return t;
}
struct tensor * ggml_set_name(struct tensor * t, const char * s) { strncpy(t->name, s, 63); return t; }
struct tensor * ggml_view_1d(void * c, struct tensor * t, int64_t ne, size_t o) { struct tensor * v = ggml_new_tensor_4d(c, 0, ne, 1, 1, 1); v->view_src = t; v->view_offs = o; return v; }
struct tensor * ggml_scale(void * c, struct tensor * t, float f) { return ggml_new_tensor_4d(c, 0, 1, 1, 1, 1); }
void ggml_set_input(struct tensor * t) { t->flags |= 1; }
void * ggml_get_data(const struct tensor * t) { return t->data; }
const char * ggml_op_name(int op) { return "NONE"; }
const char * ggml_type_name(int type) { return "f32"; }
size_t ggml_type_size(int type) { return 4; }
int64_t ggml_blck_size(int type) { return 1; }
const char * ggml_version(void) { return "9.9.9"; }
const char * ggml_backend_name(void * b) { return "CPU"; }
void * ggml_backend_buffer_get_base(void * b) { return values; }
size_t ggml_backend_buffer_get_size(void * b) { return sizeof(values); }
void * ggml_backend_buffer_get_type(void * b) { return &n; }
bool ggml_backend_buffer_is_host(void * b) { return true; }
const char * ggml_backend_buft_name(void * t) { return "CPU"; }
void * ggml_backend_buft_alloc_buffer(void * type, size_t size) { return values; }
struct graph { int size, n_nodes, n_leafs; struct tensor ** nodes; };
int ggml_graph_n_nodes(struct graph * g) { return g->n_nodes; }
struct tensor * ggml_graph_node(struct graph * g, int i) { return g->nodes[i]; }
void ggml_backend_tensor_set(struct tensor * t, const void * data, size_t offset, size_t size) { memcpy((char *) t->data + offset, data, size); }
int ggml_graph_compute(struct graph * g, void * plan) { // doubles
    for (int i = 0; i < g->n_nodes; i++) for (int64_t k = 0; k < g->nodes[i]->ne[0]; k++) ((float *) g->nodes[i]->data)[k] *= 2;
    return 0;
}
`;
const otherProgram = `
#include <stdio.h>
#include <stdint.h>
#include <stddef.h>
struct tensor;
struct graph { int size, n_nodes, n_leafs; struct tensor ** nodes; };
void * ggml_backend_buft_alloc_buffer(void * type, size_t size);
struct tensor * ggml_new_tensor_4d(void * c, int type, int64_t a, int64_t b, int64_t d, int64_t e);
void ggml_backend_tensor_set(struct tensor * t, const void * data, size_t offset, size_t size);
void * ggml_get_data(const struct tensor * t);
int ggml_graph_compute(struct graph * g, void * plan);
int main(void) {
    float input[3] = {1, 2, 3};
    ggml_backend_buft_alloc_buffer(NULL, 64);
    struct tensor * t = ggml_new_tensor_4d(NULL, 0, 3, 1, 1, 1);
    ggml_backend_tensor_set(t, input, 0, sizeof(input));
    for (int i = 0; i < 10; i++) ggml_graph_compute(&(struct graph){1, 1, 0, &t}, NULL);
    float * result = ggml_get_data(t);
    printf("%g %g %g\\n", result[0], result[1], result[2]);
    return 7;
}
`;

test("a ggml of another layout: one line on stderr, the result is what it is without us, and nothing is recorded", () => {
    writeFileSync(scratch("ggml.c"), otherGgml);
    writeFileSync(scratch("program.c"), otherProgram);
    output("cc", ["-shared", "-fPIC", "-w", "-o", scratch("libggml-base.so"), scratch("ggml.c")]);
    output("cc", ["-o", scratch("program"), scratch("program.c"), "-L", scratch(), "-lggml-base", `-Wl,-rpath,${scratch()}`]);
    const directory = fresh();
    const plain = run(scratch("program"));
    assert.deepEqual([plain.status, plain.stdout, plain.stderr], [7, "1024 2048 3072\n", ""]);
    const recorded = run(scratch("program"), [], { env: { ...process.env, LD_PRELOAD: library, GGSCOPE_OUTPUT: directory } });
    assert.deepEqual([recorded.status, recorded.stdout], [7, plain.stdout]);
    assert.match(recorded.stderr, /^ggscope: this ggml \(9\.9\.9\) is not laid out as expected \([^\n]*shape[^\n]*\)[^\n]*nothing is recorded\n$/);
    assert.ok(!existsSync(directory) || readdirSync(directory).length === 0);

    const under = run(ggscope, ["record", "-q", "-o", fresh(), "--", scratch("program")]);
    assert.deepEqual([under.status, under.stdout], [7, plain.stdout]);
    assert.match(under.stderr, /9\.9\.9/);
});

// ---- system calls ----

test("no system call per op", { skip: available("strace") ? false : "strace is missing" }, (t) => {
    const calls = (tokens, ...environment) => {
        const log = scratch("strace");
        const args = [engine, "run", "-m", tiny, "-p", "Once", "-n", String(tokens), "-t", "1", "--ignore-eos", "--json"];
        const result = run("strace", ["-f", "-c", "-o", log, ...environment.flatMap((e) => ["-E", e]), ...args]);
        if (result.status !== 0 && /ptrace|not permitted/i.test(result.stderr)) return null;
        assert.equal(result.status, 0, result.stderr);
        return Number(/^100[.,]00\s+\S+\s+(?:\S+\s+)?(\d+)\s.*total$/m.exec(readFileSync(log, "utf8"))[1]);
    };
    if (calls(1) === null) return t.skip("this system lets no program trace another");
    const recorded = [50, 100].map((n) => calls(n, `LD_PRELOAD=${library}`, `GGSCOPE_OUTPUT=${fresh()}`));
    const plain = [50, 100].map((n) => calls(n));
    const { directory } = generate(tiny, "-p", "Once", "-n", "3", "-t", "1");
    const ops = 50 * rows(directory, "runs").runs.at(-1).executed;
    const perOp = (recorded[1] - recorded[0] - (plain[1] - plain[0])) / ops;
    t.diagnostic(`system calls of 50 and 100 tokens: ${recorded.join(", ")} recorded, ${plain.join(", ")} plain; ${perOp.toFixed(5)} per op`);
    assert.ok(perOp < 0.01);
});

test("workers that a program forks: told without --follow, recorded with it", () => {
    const plain = fresh(), told = run(ggscope, ["record", "-o", plain, "--", host, "workers", tiny]);
    assert.equal(told.status, 0, told.stderr);
    assert.match(told.stderr, /^ggscope: the program computed no graph itself: 2 forked children did; record them with --follow$/m);
    assert.match(told.stderr, /^children +2 forked processes computed graphs, not recorded: --follow$/m);
    const once = run(ggscope, ["record", "-o", fresh(), "--", host, "fork", tiny]);
    assert.match(once.stderr, /^children +1 forked process computed graphs, not recorded: --follow$/m);
    const directory = fresh(), followed = run(ggscope, ["record", "-q", "--follow", "-o", directory, "--", host, "workers", tiny]);
    assert.equal(followed.status, 0, followed.stderr);
    assert.doesNotMatch(followed.stderr, /not recorded/);
    const parts = [directory, ...readdirSync(directory).filter((name) => name.startsWith("process-")).map((name) => join(directory, name))];
    const steps = parts.map((part) => (check(part), rows(part, "steps").steps.length)).filter((n) => n > 0);
    assert.deepEqual(steps, [3, 3]); // the prompt and two tokens each
});

test("fork while any lock of ours is held: the child computes on and waits for none", () => {
    const { stdout } = record([host, "fork-held", tiny]);
    const said = (key) => jsonLines(stdout).find((line) => line[key] !== undefined)[key];
    assert.ok(said("locks") >= 6, `it forked under ${said("locks")} locks`);
    assert.equal(said("hung"), 0);
});

test("fork in the middle of a graph run: what the child computes is not in the parent's trace", () => {
    const lines = (text) => jsonLines(text).filter((line) => line.child_status === undefined);
    const plain = output(host, ["fork-inside", "-t", "1", "-n", "50", tiny]);
    const { directory, stdout } = record([host, "fork-inside", "-t", "1", "-n", "50", tiny]);
    assert.deepEqual(lines(stdout), lines(plain));
    assert.equal(jsonLines(stdout).find((line) => line.child_status !== undefined).child_status, 0);
    const { runs, op_runs, losses } = rows(directory, "runs", "op_runs", "losses");
    assert.deepEqual(losses, []);
    for (const r of runs) {
        const mine = op_runs.filter((o) => o.run === r.run);
        assert.deepEqual([mine.length, r.flags, r.unseen], [r.executed, 0, 0]);
        assert.deepEqual(mine.map((o) => o.node), [...new Set(mine.map((o) => o.node))].sort((a, b) => a - b));
    }
});

test("the same, and the parent is killed when the child has ended: its trace ends where it was", () => {
    const directory = fresh();
    run(ggscope, ["record", "-q", "-o", directory, "--", host, "fork-inside-killed", "-t", "1", "-n", "50", tiny]);
    const { runs, op_runs, processes: [process] } = rows(directory, "runs", "op_runs", "processes");
    assert.deepEqual([runs.length, runs[0].flags, process.ended], [1, 1, 0]);
    assert.equal(op_runs.length, 50);
});

// ---- resource limits ----

// Runs the command; expects one line of ggscope on stderr.
function recordSaying(command, pattern, ...options) {
    const directory = fresh(), result = run(ggscope, ["record", "-q", "--no-faults", "-o", directory, ...options, "--", ...command]);
    assert.match(result.stderr.match(/^ggscope: .*/gm)?.[0] ?? "", pattern, result.stderr);
    return { directory, ...result };
}

for (const mode of ["sandbox", "sandbox-syscall"]) {
    test(`${mode}: a program that restricts its system calls lives on, recorded as far as segments are ready`, () => {
        const command = [host, mode, "-t", "1", "-g", "30", small];
        const plain = run(command[0], command.slice(1));
        assert.equal(plain.status, 0, plain.stderr);
        const { directory, status, signal, stdout } = recordSaying(command, /the program restricts its system calls: recording ends when/);
        assert.deepEqual([status, signal], [0, null]);
        assert.equal(stdout, plain.stdout);
        const { runs, op_runs } = rows(directory, "runs", "op_runs");
        assert.equal(runs.length, 33);
        assert.ok(sum(runs.map((r) => r.unseen + r.cut)) === 0 && op_runs.length === sum(runs.map((r) => r.executed)));
    });
}

test("a long one: recording ends when the segments are full, and the program does not", () => {
    const { directory, status, stdout } = recordSaying([host, "sandbox", "-t", "1", "-g", "800", tiny], /the program restricts its system calls/, "--max-size", "4M");
    assert.equal(status, 0);
    assert.match(stdout, /"alive"/);
    const { runs, losses, graphs: known } = rows(directory, "runs", "losses", "graphs");
    assert.ok(runs.length > 300 && runs.length < 803, `${runs.length} runs`);
    assert.equal(sum(runs.map((r) => r.flags & 1)), 0, "no run is cut off");
    const whole = runs.filter((r) => r.executed > 0).length, { nodes } = known.find((g) => g.graph === runs.at(-1).graph);
    assert.equal(sum(losses.map((l) => l.count)), (803 - whole) * nodes, "each node of each run that is not there is counted");
    assert.match(run(ggscope, ["check", directory]).stdout, /^FAIL +no losses/m);
});

test("RLIMIT_FSIZE: the program lives, and is recorded with segments that were made for it, or one line says why it is not", () => {
    const words = ["-c", 'ulimit -f 100; exec "$@"', "sh", engine, "run", "-m", small, "-p", "Hello", "-n", "2", "-t", "1", "--ignore-eos"];
    const reason = /^ggscope: cannot write to .*: File too large: the program runs on, nothing is recorded$/m;
    const plain = run("sh", words);
    assert.equal(plain.status, 0, plain.stderr);
    const alone = run("sh", words, { env: { ...process.env, LD_PRELOAD: library, GGSCOPE_OUTPUT: fresh() } }); // makes its own segments
    assert.deepEqual([alone.status, alone.stdout], [0, plain.stdout]);
    assert.match(alone.stderr, reason);
    const directory = fresh(), recorded = run(ggscope, ["record", "-q", "--no-faults", "-o", directory, "--", "sh", ...words]);
    assert.equal(recorded.stdout, plain.stdout);
    const checked = run(ggscope, ["check", directory]);
    if (recorded.status !== 0) assert.match(recorded.stderr, reason); // no segment was ready in time
    else if (/^ggscope: recording ends here, the program runs on: File too large$/m.test(recorded.stderr)) assert.match(checked.stdout, /^FAIL +no losses +\d+ records? lost \(.*without room/m); // some records were lost
    else assert.equal(checked.status, 0, checked.stdout);
});

test("RLIMIT_FSIZE of ggscope itself: the program is recorded, or a sentence says why not", () => {
    const program = [engine, "run", "-m", small, "-p", "Hello", "-n", "2", "-t", "1", "--ignore-eos"], plain = run(program[0], program.slice(1));
    const limited = (kib) => {
        const directory = fresh();
        return { directory, ...run("bash", ["-c", `ulimit -f ${kib}; exec "$@"`, "bash", ggscope, "record", "-q", "--no-faults", "-o", directory, "--", ...program]) };
    };
    const little = limited(200), enough = limited(100000);
    assert.equal(little.status, 1, "an error, not a signal");
    assert.match(little.stderr, /^ggscope: cannot .*: File too large \(ulimit -f limits the size of files here\)$/m);
    assert.ok(!existsSync(little.directory), "nothing is left");
    assert.deepEqual([enough.status, enough.stdout], [0, plain.stdout]);
    assert.equal(run(ggscope, ["check", enough.directory]).status, 0);
});

test("RLIMIT_FSIZE: SIGXFSZ is for the program what it is without us", () => {
    const show = ["sh", "-c", "grep -E '^Sig(Ign|Cgt)' /proc/self/status"], directory = fresh();
    const recorded = run(ggscope, ["record", "-q", "-o", directory, "--", ...show]), mask = (text) => text.match(/^SigIgn:\s*(\w+)/m)[1];
    assert.equal(mask(recorded.stdout), mask(run(show[0], show.slice(1)).stdout));
});

test("a newline in the model's path: one file, as without it", () => {
    const folder = scratch("new\nline"), plain = fresh(), odd = fresh();
    mkdirSync(folder);
    copyFileSync(small, join(folder, "model.gguf"));
    copyFileSync(small, join(folder, "model\\012.gguf"));
    const of = (directory, file) => {
        const recorded = run(ggscope, ["run", "-q", "-o", directory, "-m", file, "-p", "Hello", "-n", "2", "-t", "1", "--ignore-eos"]);
        assert.equal(recorded.status, 0, recorded.stderr);
        const { bytes_touched, bytes_disk } = stats(directory);
        assert.equal(run(ggscope, ["check", directory]).status, 0);
        return { bytes_touched, bytes_disk, files: JSON.parse(output(ggscope, ["sql", "--json", directory, "select path from files"])).rows.flat() };
    };
    const { files, ...expected } = of(plain, small);
    assert.deepEqual(of(odd, join(folder, "model.gguf")), { ...expected, files: [join(folder, "model.gguf")] });
    const literal = scratch("model\\012.gguf");
    copyFileSync(small, literal);
    assert.deepEqual(of(fresh(), literal), { ...expected, files: [literal] });
});
