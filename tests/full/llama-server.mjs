// llama-server, built from the release's source. GGSCOPE_TEST_SERVER names one that is there already.
import { join } from "node:path";
import { output, root, run } from "../lib.mjs";
import { checkout, newest, release, sourceBundle } from "../engine/node/recordings.mjs";

// Why there can be none, or "".
export function unbuildable() {
    if (process.env.GGSCOPE_TEST_SERVER) return "";
    if (process.arch !== "x64") return `the release's source bundle comes with libraries for x64, this is ${process.arch}`;
    return run("sh", ["-c", "command -v g++"]).status === 0 ? "" : "there is no g++ to build it with";
}

// Takes minutes the first time. Not optimised for this machine: compilers know instructions that hypervisors do not let pass.
export function buildServer() {
    if (process.env.GGSCOPE_TEST_SERVER) return process.env.GGSCOPE_TEST_SERVER;
    const folder = join(root, "build", "server"), source = join(folder, "source"), tree = join(folder, "build");
    checkout(sourceBundle(release(newest)), source);
    const options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DBUILD_SHARED_LIBS=ON", "-DGGML_NATIVE=OFF", "-DGGML_OPENMP=OFF",
        "-DGGML_CCACHE=OFF", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF"];
    output("nice", ["cmake", "-G", "Ninja", "-S", source, "-B", tree, ...options]);
    output("nice", ["cmake", "--build", tree, "--target", "llama-server"], { timeout: 7_200_000 });
    return join(tree, "bin", "llama-server");
}
