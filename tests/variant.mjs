// The engine of the tests. llama.cpp picks its CPU library (libggml-cpu-VARIANT.so) by the
// processor, and buffers, sizes and kernels depend on it. Tests run on one variant that every
// x86-64 processor of the last ten years supports: a folder of links to the engine's files with a
// single CPU library.
//     GGSCOPE_TEST_VARIANT=NAME    this variant (x64, zen4, sapphirerapids, ...); `best`: the
// engine's
//                                  choice
//     GGSCOPE_ENGINE=DIR           this engine, with its own choice unless GGSCOPE_TEST_VARIANT is
// set
// As a program (node tests/variant.mjs) it prints the variants in use, or the reason why the tests
// cannot run.
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, readlinkSync, realpathSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const tileLibrary = "libggml-tile.so", built = () => resolve(process.env.GGSCOPE_BUILD ?? join(root, "build"));
const pinned = join(root, "engine", "node_modules", "@node-llama-cpp", "linux-x64", "bins", "linux-x64");

// The engine with all of its CPU libraries.
export const wholeEngine = process.env.GGSCOPE_ENGINE ? resolve(process.env.GGSCOPE_ENGINE) : pinned;

const flags = new Set(/^flags\s*:(.*)$/m.exec(readFileSync("/proc/cpuinfo", "utf8"))?.[1].split(" ") ?? []);
const has = (...names) => names.every((name) => flags.has(name));

// The variant of the tests, or "best".
export const variant = process.env.GGSCOPE_TEST_VARIANT || (wholeEngine !== pinned || !existsSync(pinned) ? "best" : has("avx2", "fma", "f16c", "bmi2") ? "haswell" : "x64");

// The variant for AMX, and whether tests/engine/tiles.c emulates its tile instructions: "" if it
// cannot run at all.
export const amx = "sapphirerapids";
export const amxTiles = has("amx_tile", "amx_int8") ? "native" : has("avx512_vnni", "avx512vbmi", "avx512_bf16") && existsSync(join(built(), "tests", tileLibrary)) ? "emulated" : "";

// Makes a copy that claims to run here, and that finds tiles and their permission in our library.
function emulated(path) {
    const bytes = readFileSync(path);
    const score = Number(`0x${/\s([0-9a-f]{16})\s.*\sggml_backend_score$/m.exec(execFileSync("readelf", ["--dyn-syms", "-W", path], { encoding: "utf8" }))[1]}`);
    Buffer.from([0xb8, 0xe8, 0x03, 0, 0, 0xc3]).copy(bytes, score); // mov $1000, %eax; ret
    for (const [from, to] of [["\0libggml-base.so\0", `\0${tileLibrary}\0`], ["\0syscall\0", "\0sysca1l\0"]]) {
        const at = bytes.indexOf(from);
        if (at < 0 || from.length !== to.length) throw new Error(`${path} does not name ${from.slice(1, -1)}`);
        bytes.write(to, at, "latin1");
    }
    return bytes;
}

// Replaces a file atomically, also if other processes do the same.
function replace(place, write) {
    const temporary = `${place}.${process.pid}`;
    rmSync(temporary, { force: true });
    write(temporary);
    renameSync(temporary, place);
}

// Libraries are links. Programs search libraries beside the target of a link, so programs are
// copied.
function put(file, from, to) {
    const target = join(realpathSync(from), file), place = join(to, file), isNew = !existsSync(place) || statSync(place).mtimeMs < statSync(target).mtimeMs;
    if (file === `libggml-cpu-${amx}.so` && amxTiles === "emulated") {
        if (isNew) replace(place, (path) => writeFileSync(path, emulated(target), { mode: 0o755 }));
        replace(join(to, tileLibrary), (path) => symlinkSync(join(built(), "tests", tileLibrary), path));
    } else if (file.includes(".so")) {
        if (!existsSync(place) || readlinkSync(place) !== target) replace(place, (path) => symlinkSync(target, path));
    } else if (isNew) replace(place, (path) => copyFileSync(target, path));
}

// The folder of an engine with only this variant.
//     engineOf("haswell")     engineOf(variant, "/some/engine")
export function engineOf(name, whole = wholeEngine) {
    if (name === "best") return whole;
    const library = `libggml-cpu-${name}.so`, files = readdirSync(whole).filter((file) => statSync(join(whole, file)).isFile());
    if (!files.includes(library)) throw new Error(`there is no ${library} in ${whole}`);
    const folder = join(root, "build", "variants", name, whole === pinned ? "engine" : whole.replaceAll("/", "-").slice(-200));
    const wanted = files.filter((file) => !file.startsWith("libggml-cpu-") || file === library);
    mkdirSync(folder, { recursive: true });
    for (const file of wanted) put(file, whole, folder);
    return folder;
}

// The name of the CPU library that an engine loads here, or the reason why it loads none.
export function loadedVariant(folder) {
    const engine = join(built(), "bin", "ggscope-engine");
    const { status, stdout, stderr } = spawnSync(engine, ["version", "--engine", folder], { encoding: "utf8" });
    const name = /^computes with (?:libggml-cpu-)?(.*?)(?:\.so.*)?:/m.exec(stdout ?? "")?.[1];
    return status === 0 && name ? { name } : { reason: stderr?.trim() || `${engine} does not run` };
}

// The variants for tests that must hold on all of them: the engine's choice, and the one for AMX.
// [{ name, folder }]
export function otherVariants() {
    const best = { ...loadedVariant(wholeEngine), folder: wholeEngine };
    const list = best.name ? [best] : [];
    if (best.name !== amx && amxTiles && existsSync(join(wholeEngine, `libggml-cpu-${amx}.so`))) list.push({ name: amx, folder: engineOf(amx) });
    return list;
}

function main() {
    let used;
    try { used = loadedVariant(engineOf(variant)); } catch (error) { used = { reason: error.message }; }
    if (!used.name) {
        console.error(`the tests cannot run on the CPU variant ${variant}: ${used.reason}`);
        process.exit(1);
    }
    const shown = (name) => `${name}${name === amx && amxTiles === "emulated" ? " with emulated tiles" : ""}`;
    console.log(`CPU variant of the engine: ${shown(used.name)}; in engine/any-cpu: ${otherVariants().map(({ name }) => shown(name)).join(", ")}`);
}
if (process.argv[1] && existsSync(process.argv[1]) && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) main();
