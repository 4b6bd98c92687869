// The Debian package on a clean Debian 12, `make install` and `make uninstall`, and the source archive.
import { test, after } from "node:test";
import assert from "node:assert/strict";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { build, output, root, run, scratch } from "../lib.mjs";

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
});

test("the package installs with apt on a clean Debian 12, records, and goes without a trace", (t) => {
    if (process.getuid() !== 0) return t.skip("a chroot needs root");
    if (run("sh", ["-c", "command -v debootstrap && command -v dpkg-shlibdeps"]).status !== 0) return t.skip("debootstrap and dpkg-dev are not installed");
    const base = join(build, "debian-12"), debian = scratch("debian");
    if (!existsSync(join(base, "etc/debian_version"))) {
        rmSync(base, { recursive: true, force: true });
        const made = run("debootstrap", ["--variant=minbase", "bookworm", base, "http://deb.debian.org/debian"], { timeout: 900_000 });
        if (made.status !== 0) return t.skip(`debootstrap failed: ${made.stdout.trim().split("\n").pop()}`);
    }
    output("cp", ["-a", base, debian]);
    make("deb");
    copyFileSync(join(build, `ggscope_${version}_amd64.deb`), join(debian, "tmp/ggscope.deb"));
    copyFileSync("/etc/resolv.conf", join(debian, "etc/resolv.conf"));
    // Mounts that end with the command.
    const inside = (command) => run("unshare", ["-m", "sh", "-c", `mount -t proc proc '${debian}/proc' && mount -t tmpfs tmpfs '${debian}/dev/shm' && exec chroot '${debian}' sh -c "$1"`, "sh", command],
        { timeout: 900_000, env: { ...process.env, PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8" } });
    const good = (command) => {
        const result = inside(command);
        assert.equal(result.status, 0, `${command}\n${result.stdout}${result.stderr}`);
        return result.stdout;
    };
    const before = new Set(files(debian));
    good("apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/ggscope.deb");
    assert.match(good("ggscope version"), new RegExp(`^ggscope ${version.replaceAll(".", "\\.")}[^]*capture +/usr/lib/ggscope/libggscope-capture.so\nengine +/usr/lib/ggscope/engine\n`));
    good("cd /tmp && ggscope-engine synth tiny -o tiny.gguf && ggscope run -m tiny.gguf -p 'Once upon a time' -n 3 -t 1 -q");
    assert.match(good("cd /tmp && ggscope check"), /ok/);
    assert.match(good("cd /tmp && ggscope sql -q --csv 'SELECT count(*) > 1000 AS many FROM ops'"), /^many\r\n1\r\n$/);
    assert.match(good("cd /tmp && ggscope report -q -o page.html && head -c 200 page.html"), /<!doctype html>/i);
    assert.match(good("bash -c '. /usr/share/bash-completion/completions/ggscope && complete -p ggscope'"), /_ggscope ggscope/);
    // Without the engine of the package: one that lies elsewhere is found, and none is a sentence.
    good("mkdir -p /opt/llama.cpp && mv /usr/lib/ggscope/engine /opt/llama.cpp/lib");
    assert.match(good("ggscope version"), /engine +\/opt\/llama\.cpp\/lib\n/);
    good("cd /tmp && ggscope run -m tiny.gguf -p Hello -n 2 -t 1 -q");
    good("mv /opt/llama.cpp/lib /usr/lib/ggscope/engine");
    good("apt-get remove -y -qq --purge ggscope && rm -rf /tmp/* /opt/llama.cpp");
    const left = files(debian).filter((name) => !before.has(name) && /ggscope/.test(name));
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
    for (const name of ["engine/node_modules", "ui/node_modules"]) symlinkSync(join(root, name), join(tree, name)); // what npm would bring
    mkdirSync(join(tree, "build"));
    symlinkSync(join(root, "build/engine"), join(tree, "build/engine"));
    const environment = { ...process.env, GIT_DIR: "/nonexistent" };
    output("cmake", ["--preset", "release", "--log-level=WARNING"], { cwd: tree, env: environment });
    output("cmake", ["--build", "--preset", "release", "--target", "ggscope", "ggscope-engine"], { cwd: tree, env: environment, timeout: 900_000 });
    assert.match(output(join(tree, "build/bin/ggscope"), ["version"]), new RegExp(`^ggscope ${version.replaceAll(".", "\\.")} \\(${commit}\\)\n`));
});
