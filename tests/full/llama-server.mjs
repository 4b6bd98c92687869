// llama-server and other programs of llama.cpp, built from the release's source and linked with the
// stock libraries, so only the programs are compiled. GGSCOPE_TEST_SERVER names an existing server,
// GGSCOPE_TEST_PROGRAMS a folder.
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { output, root, run } from "../lib.mjs";
import { checkout, libraries, newest, release, sourceBundle } from "../engine/node/recordings.mjs";

// The reason if they cannot be built, or "".
export function unbuildable() {
    if (process.env.GGSCOPE_TEST_SERVER || process.env.GGSCOPE_TEST_PROGRAMS) return "";
    if (process.arch !== "x64") return `the release's source bundle comes with libraries for x64, this is ${process.arch}`;
    return run("sh", ["-c", "command -v g++"]).status === 0 ? "" : "there is no g++ to build it with";
}

// Empty functions in place of the library for images and sounds, which no test uses.
function standIn(objects, folder) {
    const names = (...options) => output("nm", [...options, ...objects]).split("\n").map((line) => line.trim().split(/\s+/).at(-1));
    const there = new Set(names("--defined-only"));
    const wanted = [...new Set(names("-u"))].filter((name) => name.includes("mtmd") && !there.has(name));
    writeFileSync(join(folder, "mtmd.s"), [".text", ...wanted.flatMap((name) => [`.globl ${name}`, `.type ${name}, @function`, `${name}:`]),
        "mov %rdi, %rax", "ret", '.section .note.GNU-stack, "", @progbits', ""].join("\n"));
    output("gcc", ["-shared", "-nostdlib", "-o", join(folder, "libmtmd.so"), join(folder, "mtmd.s")]);
}

// Takes minutes the first time.
export function buildServer() {
    return process.env.GGSCOPE_TEST_SERVER ?? buildProgram("llama-server");
}

// Not compiled: the stock libraries have it.
const theirs = /^(ggml|src|common|vendor\/cpp-httplib|tools\/mtmd)\//;

export function buildProgram(name) {
    if (process.env.GGSCOPE_TEST_PROGRAMS) return join(process.env.GGSCOPE_TEST_PROGRAMS, name);
    const folder = join(root, "build", "server"), source = join(folder, "source"), tree = join(folder, "build"), engine = join(folder, "engine");
    const program = join(engine, name), own = join(folder, name);
    if (existsSync(program)) return program;
    checkout(sourceBundle(release(newest)), source);
    const options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG", "-DBUILD_SHARED_LIBS=ON", "-DGGML_NATIVE=OFF", "-DGGML_OPENMP=OFF",
        "-DGGML_CCACHE=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=ON"];
    output("nice", ["cmake", "-G", "Ninja", "-S", source, "-B", tree, ...options]);
    const objects = output("ninja", ["-C", tree, "-t", "commands", name]).match(/(?<= -o )\S+\.o(?= -c)/g).filter((path) => !theirs.test(path));
    output("nice", ["ninja", "-C", tree, ...objects], { timeout: 3_600_000 });
    mkdirSync(engine, { recursive: true });
    mkdirSync(own, { recursive: true });
    const stock = libraries(release(newest)), shared = readdirSync(stock).filter((library) => library.endsWith(".so"));
    for (const library of shared.filter((one) => !existsSync(join(engine, one)))) symlinkSync(join(stock, library), join(engine, library));
    const files = objects.map((path) => join(tree, path));
    standIn(files, own);
    const linked = shared.filter((library) => /^lib(llama|ggml)(-common|-base)?(\.v.*)?\.so$/.test(library));
    output("g++", [...files, `-L${engine}`, `-L${own}`, `-Wl,-rpath,$ORIGIN:${own}`, ...[...linked, "libmtmd.so"].map((library) => `-l:${library}`), "-lpthread", "-o", `${program}.new`]);
    output("mv", [`${program}.new`, program]);
    return program;
}
