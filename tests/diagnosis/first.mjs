// Ten problems that were planted before the rules were written.
import { engineOf, variant } from "../variant.mjs";
import { model } from "../lib.mjs";
import { cores, hosted, middle, planted, record, runner, small, wholeCores } from "./plant.mjs";

export const first = [
    {
        name: "threads-above-cores", number: 1, finding: "threads-above-cores", figure: 4 * cores, remedy: new RegExp(`-t ${cores}\\b`),
        also: ["other-programs", "between-decodes", "uneven-work"],
        make: (directory) => void record(directory, [...runner(small(), "-t", String(4 * cores)), "-p", "Once upon", "-n", "4"]),
    },
    {
        name: "one-thread", number: 2, finding: "too-few-threads", figure: 1, quiet: true, remedy: new RegExp(`-t ${wholeCores}\\b`),
        make: (directory) => (wholeCores < 2 ? { skip: "there is one core" } : void record(directory, runner(middle(), "-t", "1"))),
    },
    {
        name: "small-ubatch", number: 6, finding: "small-batches", figure: 8, remedy: /--?ub(atch)?[ =]512/,
        make: (directory) => void record(directory, runner(middle(), "--ubatch", "8")),
    },
    {
        name: "generic-library", number: 7, finding: "cpu-library", remedy: /libggml-cpu-|GGML_NATIVE/,
        also: ["weights-not-repacked"],
        make: (directory) => (variant === "x64" ? { skip: "this CPU has no better library" } : void record(directory, runner(small(), "--engine", engineOf("x64")))),
    },
    {
        name: "no-repack", number: 8, finding: "weights-not-repacked", remedy: /--no-repack/, also: ["cpu-library"],
        make: (directory) => void record(directory, runner(model("tiny", "--embd", "768", "--ff", "2048", "--layers", "8", "--heads", "12", "--kv-heads", "4", "--types", "q4_0"), "--no-repack")),
    },
    {
        name: "flash-attention-off", number: 9, finding: "flash-attention-off", remedy: /-fa on/,
        make: (directory) => void record(directory, [...runner(small(), "-fa", "off", "--ctx", "4096"), "-p", "one two three four five six seven eight nine ten ".repeat(180), "-n", "8"]),
    },
    {
        name: "eval-callback", number: 10, finding: "eval-callback", remedy: /eval.callback/, also: ["between-decodes", "decode-overhead"],
        make: (directory) => void record(directory, runner(small(), "--eval-callback", "-t", "1")),
    },
    {
        name: "wide-weights", number: 14, finding: "wide-weights", figure: 16, remedy: /quantize/, mended: () => runner(model("tiny", "--embd", "768", "--ff", "2048", "--layers", "8", "--heads", "12", "--kv-heads", "4", "--types", "q4_K")),
        make: (directory) => void record(directory, runner(model("tiny", "--embd", "768", "--ff", "2048", "--layers", "8", "--heads", "12", "--kv-heads", "4", "--types", "f16"))),
    },
    {
        name: "slow-between-decodes", number: 25, finding: "between-decodes", remedy: /sampling|profile/, mended: () => hosted("healthy", "-t", "1"),
        figure: (truth) => truth.between_ns / truth.generate_ns,
        make: (directory) => planted(directory, "between", "-t", "1"),
    },
    {
        name: "prompt-token-by-token", number: 27, finding: "small-batches", figure: 1, remedy: /batch/, mended: () => hosted("healthy", "-t", "1"),
        make: (directory) => planted(directory, "pieces", "-t", "1"),
    },
];
