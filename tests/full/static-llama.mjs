// llama.cpp linked statically into a program (inside-host.c), for this machine and for AArch64, and
// the same program on the stock shared libraries.
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { output, root } from "../lib.mjs";
import { checkout, newest, release, rows, sourceBundle, stats } from "../engine/node/recordings.mjs";

const folder = join(root, "build", "static"), source = join(folder, "source"), host = join(root, "tests", "full", "inside-host.c");
const headers = ["-I", join(source, "include"), "-I", join(source, "ggml", "include")];

function getSource() {
    mkdirSync(folder, { recursive: true });
    checkout(sourceBundle(release(newest)), source);
}

// Returns the program. Takes minutes the first time. `target`: options of the compilers for another
// machine; `cmake`: options of the build.
export function buildStatic(name, { compilers: [c, cxx], openmp, flags = [], target = [], cmake = [], link = [] }) {
    const tree = join(folder, name), program = join(folder, `host-${name}`), all = [...target, ...flags];
    if (existsSync(program) && statSync(program).mtimeMs > statSync(host).mtimeMs) return program;
    getSource();
    output("nice", ["cmake", "-G", "Ninja", "-S", source, "-B", tree, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=OFF", "-DGGML_NATIVE=OFF", "-DGGML_CCACHE=OFF",
        `-DGGML_OPENMP=${openmp ? "ON" : "OFF"}`, `-DCMAKE_C_COMPILER=${c}`, `-DCMAKE_CXX_COMPILER=${cxx}`,
        `-DCMAKE_C_FLAGS=${all.join(" ")}`, `-DCMAKE_CXX_FLAGS=${all.join(" ")}`, "-DCMAKE_C_FLAGS_RELEASE=-O2", "-DCMAKE_CXX_FLAGS_RELEASE=-O2", ...cmake,
        ...["COMMON", "TESTS", "EXAMPLES", "TOOLS", "SERVER"].map((part) => `-DLLAMA_BUILD_${part}=OFF`)]);
    output("nice", ["cmake", "--build", tree, "--target", "llama"], { timeout: 3_600_000 });
    output(c, ["-O2", ...all, ...headers, "-c", host, "-o", `${program}.o`]);
    output(cxx, ["-O2", ...all, ...link, "-o", program, `${program}.o`, join(tree, "src", "libllama.a"),
        ...["libggml.a", "libggml-cpu.a", "libggml-base.a"].map((file) => join(tree, "ggml", "src", file)), ...(openmp ? ["-fopenmp"] : []), "-lpthread", "-ldl", "-lm"], { timeout: 1_200_000 });
    return program;
}

// The same program on the stock libraries in the folder `stock`.
export function buildShared(name, stock, compiler, ...target) {
    const program = join(folder, `host-${name}`);
    getSource();
    output(compiler, ["-O2", ...target, ...headers, `-DBACKENDS="${stock}"`, host, "-o", program, "-Wl,--no-as-needed", `-L${stock}`, "-l:libllama.v0.5.0.so", "-l:libggml.v0.5.0.so",
        "-l:libggml-base.so", `-Wl,-rpath,${stock}`, "-Wl,--allow-shlib-undefined"]);
    return program;
}

// What does not depend on the build: graph runs, nodes that are computed, and tokens.
export function essence(directory) {
    const { runs, executed, absorbed, empty } = stats(directory);
    return { runs, computed: executed + absorbed, empty, tokens: rows(directory, "tokens").map(({ step, token, position }) => ({ step, token, position })) };
}
