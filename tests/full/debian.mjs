// Root directories of Debian, made by debootstrap once per suite and copied for each use.
import { copyFileSync, cpSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build, output, run, scratch } from "../lib.mjs";

const bases = { bookworm: "debian-12", testing: "debian-testing" };

// The reason if they cannot be made here, or "".
export function unable(suite = "bookworm") {
    if (process.getuid() !== 0) return "a chroot needs root";
    if (run("sh", ["-c", "command -v debootstrap && command -v dpkg-shlibdeps"]).status !== 0) return "debootstrap and dpkg-dev are not installed";
    const base = join(build, bases[suite]);
    if (existsSync(join(base, "etc/debian_version"))) return "";
    rmSync(base, { recursive: true, force: true });
    const made = run("debootstrap", ["--variant=minbase", suite, base, "http://deb.debian.org/debian"], { timeout: 900_000 });
    return made.status === 0 ? "" : `debootstrap failed: ${made.stdout.trim().split("\n").pop()}`;
}

// A fresh root: { folder, run(command, directory), good(command, directory) }. `run` returns what
// lib.mjs's does; `good` must succeed and returns its stdout.
export function debian(name, suite = "bookworm") {
    const folder = scratch(name);
    output("cp", ["-a", join(build, bases[suite]), folder]);
    // A snapshot of a mirror is older than its own limit.
    writeFileSync(join(folder, "etc/apt/apt.conf.d/valid"), 'Acquire::Check-Valid-Until "false";\n');
    copyFileSync("/etc/resolv.conf", join(folder, "etc/resolv.conf"));
    writeFileSync(join(folder, "etc/dpkg/dpkg.cfg.d/speedup"), "force-unsafe-io\n"); // like Docker's images of Debian
    // ca-certificates adds this machine's additional certificates (of a proxy) when it is
    // installed.
    if (existsSync("/usr/local/share/ca-certificates")) cpSync("/usr/local/share/ca-certificates", join(folder, "usr/local/share/ca-certificates"), { recursive: true });
    const environment = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C.UTF-8", NODE_EXTRA_CA_CERTS: "/etc/ssl/certs/ca-certificates.crt" };
    // The mounts end with the command.
    const script = `mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" && exec chroot "$1" sh -c 'cd "$1" && eval "$2"' sh "$2" "$3"`;
    const inside = (command, directory = "/") => run("unshare", ["-m", "sh", "-c", script, "sh", folder, directory, command], { timeout: 3_600_000, env: environment });
    return {
        folder,
        run: inside,
        good(command, directory) {
            const result = inside(command, directory);
            if (result.status !== 0) throw new Error(`${command}: exit ${result.status ?? result.signal}\n${result.stdout.slice(-4000)}${result.stderr.slice(-4000)}`);
            return result.stdout;
        },
    };
}
