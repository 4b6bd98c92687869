// The Debian package on a clean Debian 12, `make install` and `make uninstall`, and the source
// archive.
import { test } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { build, leaveEngineAlone, output, root, scratch } from "../lib.mjs";
import { debian, unable } from "./debian.mjs";

leaveEngineAlone();

const version = /project\(ggscope VERSION ([0-9.]+)/.exec(readFileSync(join(root, "CMakeLists.txt"), "utf8"))[1];
const make = (...args) => output("make", ["-s", ...args], { cwd: root, timeout: 900_000 });

function files(folder) {
    return output("find", [folder, "(", "-type", "f", "-o", "-type", "l", ")", "-printf", "%P\n"]).trim().split("\n").filter(Boolean).sort();
}

test("make install puts everything in place, make uninstall takes it back", () => {
    const there = scratch("there");
    make("install", "PREFIX=/usr", `DESTDIR=${there}`);
    const installed = files(there);
    for (const name of ["usr/bin/ggscope", "usr/bin/ggscope-engine", "usr/lib/libggscope.so.0", "usr/lib/python3/dist-packages/ggscope.py", "usr/share/ggscope/schemas/stats.schema.json", "usr/share/man/man1/ggscope.1",
        "usr/share/bash-completion/completions/ggscope", "usr/share/zsh/vendor-completions/_ggscope", "usr/share/fish/vendor_completions.d/ggscope.fish", "usr/share/doc/ggscope/NEWS.md"]) assert.ok(installed.includes(name), name);
    assert.match(output(join(there, "usr/bin/ggscope"), ["version"]), new RegExp(`capture +${there}/usr/lib/ggscope/libggscope-capture.so\nengine +${there}/usr/lib/ggscope/engine\n`));
    make("uninstall", `DESTDIR=${there}`);
    assert.deepEqual(files(there), []);
    assert.ok(existsSync(there) && !existsSync(join(there, "usr/share/ggscope")) && existsSync(join(there, "usr/share")), "folders of our own go, others stay");
});

test("the package installs with apt on a clean Debian 12, records, and goes without a trace", (t) => {
    const why = unable();
    if (why) return t.skip(why);
    make("deb");
    const { folder, good, run } = debian("debian");
    copyFileSync(join(build, `ggscope_${version}_amd64.deb`), join(folder, "tmp/ggscope.deb"));
    const before = new Set(files(folder));
    good("apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/ggscope.deb");
    assert.match(good("ggscope version"), new RegExp(`^ggscope ${version.replaceAll(".", "\\.")}[^]*capture +/usr/lib/ggscope/libggscope-capture.so\nengine +/usr/lib/ggscope/engine\n`));
    good("ggscope-engine synth tiny -o tiny.gguf && ggscope run -m tiny.gguf -p 'Once upon a time' -n 3 -t 1 -q", "/tmp");
    assert.match(good("ggscope check", "/tmp"), /ok/);
    assert.match(good("ggscope sql -q --csv 'SELECT count(*) > 1000 AS many FROM ops'", "/tmp"), /^many\r\n1\r\n$/);
    assert.match(good("ggscope report -q -o page.html && head -c 200 page.html", "/tmp"), /<!doctype html>/i);
    assert.match(good("bash -c '. /usr/share/bash-completion/completions/ggscope && complete -p ggscope'"), /_ggscope ggscope/);
    // Without the package's engine another one is found; without any, there is one sentence.
    good("mkdir -p /opt/llama.cpp && mv /usr/lib/ggscope/engine /opt/llama.cpp/lib");
    assert.match(good("ggscope version"), /engine +\/opt\/llama\.cpp\/lib\n/);
    good("ggscope run -m tiny.gguf -p Hello -n 2 -t 1 -q", "/tmp");
    // pkg-config comes before the usual prefixes.
    good("apt-get install -y -qq --no-install-recommends pkg-config && cp -a /opt/llama.cpp/lib /srv/llama && mkdir -p /usr/share/pkgconfig");
    good("printf 'libdir=/srv/llama\nName: llama\nDescription: as llama.cpp installs it\nVersion: 0.0.0\nLibs: -L${libdir} -lllama\n' >/usr/share/pkgconfig/llama.pc");
    assert.match(good("ggscope version"), /engine +\/srv\/llama\n/);
    good("ggscope run -m tiny.gguf -p Hello -n 2 -t 1 -q -o found", "/tmp");
    assert.match(readFileSync(join(folder, "tmp/found/experiment.json"), "utf8"), /"\/srv\/llama\/libllama\./);
    good("rm -rf /srv/llama /opt/llama.cpp/lib /usr/share/pkgconfig/llama.pc");
    const none = run("ggscope run -m tiny.gguf -p Hello -n 2 -q -o none", "/tmp");
    assert.equal(none.status, 1);
    assert.match(none.stderr, /^ggscope[^\n]*: no llama\.cpp libraries: looked in [^\n]+; name their directory with --engine DIR or GGSCOPE_ENGINE\n$/);
    assert.equal(run("ls none", "/tmp").status, 2, "what did not begin leaves no folder");
    good("apt-get remove -y -qq --purge ggscope && rm -rf /tmp/* /opt/llama.cpp");
    const left = files(folder).filter((name) => !before.has(name) && /ggscope/.test(name));
    assert.deepEqual(left, []);
});

test("the source archive builds without a repository", () => {
    make("dist");
    const folder = scratch("dist");
    mkdirSync(folder);
    output("tar", ["-xzf", join(build, `ggscope-${version}.tar.gz`), "-C", folder]);
    const tree = join(folder, `ggscope-${version}`), commit = readFileSync(join(tree, "cmake/commit.txt"), "utf8").trim();
    assert.match(commit, /^[0-9a-f]{7,}$/);
    assert.ok(!existsSync(join(tree, ".git")));
    for (const name of ["engine/node_modules", "ui/node_modules"]) symlinkSync(join(root, name), join(tree, name)); // in place of npm install
    mkdirSync(join(tree, "build"));
    symlinkSync(join(root, "build/engine"), join(tree, "build/engine"));
    const environment = { ...process.env, GIT_DIR: "/nonexistent" };
    output("cmake", ["--preset", "release", "--log-level=WARNING"], { cwd: tree, env: environment });
    output("cmake", ["--build", "--preset", "release", "--target", "ggscope", "ggscope-engine"], { cwd: tree, env: environment, timeout: 900_000 });
    assert.match(output(join(tree, "build/bin/ggscope"), ["version"]), new RegExp(`^ggscope ${version.replaceAll(".", "\\.")} \\(${commit}\\)\n`));
});
