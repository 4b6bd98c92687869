// Attaching inside a container, whose seccomp filter the kernel shows to nobody there: ggscope
// tries the system calls itself if the program must have the same filter, and is refused otherwise.
import { test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { ggscope, output, root, run, scratch } from "../lib.mjs";
import { compile, skip, sleeper, start, tiny, until } from "./attaching.mjs";
import { check, fresh, host, jsonLines, rows } from "./traces.mjs";

const unable = skip || (process.getuid() !== 0 ? "needs root to make a container"
    : run("unshare", ["--mount", "--pid", "--fork", "true"]).status !== 0 ? "namespaces are not permitted here" : false);
const container = scratch("container");
if (!unable) output("cc", ["-O1", "-o", container, join(root, "tests", "engine", "container.c")]);

// A shell is process 1 of the container and runs what is written to it.
class Container {
    constructor(filter) {
        Object.assign(this, start(container, [filter, "sh"], { stdio: ["pipe", "pipe", "pipe"] }), { filter });
    }
    async say(command, answer) {
        this.said.stdout = "";
        this.child.stdin.write(`${command}\n`);
        await until(command, () => (assert.equal(this.child.exitCode, null, this.said.stderr), answer.test(this.said.stdout)));
        return this.said.stdout.match(answer)[1];
    }
    // Runs a program in the background and waits until its output has the text. Returns its number
    // inside.
    async run(command, text) {
        this.output = scratch(`output-${this.child.pid}-${counter++}`);
        const pid = await this.say(`${command} > '${this.output}' & echo "background $!."`, /background (\d+)\.\n$/);
        await until("its output", () => text.test(readFileSync(this.output, "utf8")));
        return pid;
    }
    // Attaches by a command of the shell. Returns its status, what it said and the recording.
    async attach(pid, ...options) {
        const directory = fresh(), error = scratch(`error-${this.child.pid}-${counter++}`);
        const status = await this.say(`'${ggscope}' attach -q -o '${directory}' ${options.join(" ")} ${pid} 2> '${error}'; echo "status $?."`, /status (\d+)\.\n$/);
        return { status: Number(status), stderr: readFileSync(error, "utf8"), directory };
    }
    // Process 1 of the container, as seen from here.
    first() {
        return readFileSync(`/proc/${this.child.pid}/task/${this.child.pid}/children`, "utf8").trim();
    }
    // Attaches by a command that enters the container, as `docker exec` does.
    async enter(pid, ...options) {
        const directory = fresh(), { ended } = start(container, [this.filter, "-enter", this.first(), ggscope, "attach", "-q", "-o", directory, ...options, pid]);
        return { ...(await ended), directory };
    }
    async stop() {
        this.child.kill("SIGKILL");
        return this.ended;
    }
}
let counter = 0;

async function assertRefused(boxed, pid, reason) {
    const maps = () => boxed.say(`cat /proc/${pid}/maps; echo over.`, /^([^]*)over\.\n$/);
    const before = await maps(), { status, stderr } = await boxed.attach(pid);
    assert.equal(status, 1, stderr);
    assert.match(stderr, reason);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
    assert.equal(await maps(), before, "nothing of it is touched");
}

test("the filter of a container: the calls are tried, by a process of it and by one that enters it", { skip: unable }, async () => {
    const boxed = new Container("docker");
    const pid = await boxed.run(`'${host}' endless -g 3 '${tiny}'`, /logits/), hashes = () => [...readFileSync(boxed.output, "utf8").matchAll(/"logits":(\d+)/g)].map(([, hash]) => hash);
    for (const way of ["attach", "enter", "attach"]) {
        const { status, stderr, directory } = await boxed[way](pid, "--steps", "4", "--model", `'${tiny}'`.replaceAll("'", way === "enter" ? "" : "'"));
        assert.equal(status, 0, stderr);
        check(directory);
        assert.equal(rows(directory, "steps").steps.length, 4);
    }
    const n = hashes().length;
    await until("more steps", () => hashes().length > n + 4);
    hashes().forEach((hash, i) => assert.equal(hash, hashes()[i % 4], `step ${i}`));
    await boxed.stop();
});

test("a filter that ends a process at a clone: refused, and only ggscope's own child ends", { skip: unable }, async () => {
    const boxed = new Container("kill-threads");
    const pid = await boxed.run(`'${compile("ours", sleeper)}'`, /begun/);
    await assertRefused(boxed, pid, /its seccomp filter would end it at the system call clone; start the program with ggscope record instead$/m);
    await boxed.stop();
});

// Installs a filter in the thread that calls; without a number, only promises to.
const adds = `#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
static void * add(void * filters) {
    struct sock_filter code = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
    struct sock_fprog program = {1, &code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (long n = (long) filters; n > 0; n--)
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) exit(1);
    puts("begun");
    fflush(stdout);
    for (;;) pause();
}
int main(int argc, char ** argv) {
    pthread_t thread;
    void * filters = (void *) (long) atoi(argv[1]);
    if (argc > 2) pthread_create(&thread, NULL, add, filters);
    else add(filters);
    for (;;) pause();
}
`;
test("filters that may differ: refused with the reason", { skip: unable }, async () => {
    const boxed = new Container("docker"), program = compile("adds", adds, "-pthread");
    const cases = [["1", /which might differ \(one of its threads has 2, ggscope 1\)/], ["1 in-a-thread", /one of its threads has 2, ggscope 1/],
        ["0", /one of its threads can have installed one itself \(no_new_privs\)/], ["0 in-a-thread", /one of its threads can have installed one itself \(no_new_privs\)/]];
    for (const [words, reason] of cases) await assertRefused(boxed, await boxed.run(`'${program}' ${words}`, /begun/), reason);
    await boxed.stop();

    const privileged = new Container("admin"), pid = await privileged.run(`'${compile("ours", sleeper)}'`, /begun/);
    await assertRefused(privileged, pid, /ggscope can have installed one itself \(CAP_SYS_ADMIN\)/);
    await privileged.stop();
});
