// Ten problems that were planted after the last change of a rule.
import { model } from "../lib.mjs";
import { engineOf, variant } from "../variant.mjs";
import { cores, middle, planted, record, runner, small, wholeCores } from "./plant.mjs";

const shapes = ["--embd", "768", "--ff", "2048", "--layers", "6", "--heads", "12", "--kv-heads", "4"];

export const last = [
    { name: "one-thread-too-many", number: null, finding: "threads-above-cores", figure: cores + 1, remedy: new RegExp(`-t ${cores}\\b`),
      make: (directory) => void record(directory, [...runner(small(), "-t", String(cores + 1)), "-p", "Once upon", "-n", "4"]) },
    { name: "ubatch-of-one", number: null, finding: "small-batches", figure: 1, remedy: /--ubatch 512/, make: (directory) => void record(directory, runner(small(), "--ubatch", "1")) },
    { name: "small-batch", number: null, finding: "small-batches", figure: 16, remedy: /--batch 2048/, make: (directory) => void record(directory, runner(small(), "--batch", "16")) },
    { name: "token-by-token-with-logits", number: null, finding: "small-batches", figure: 1, remedy: /llama_batch/, also: ["too-few-threads"],
      make: (directory) => planted(directory, "pieces-logits", "-t", "1") },
    { name: "bf16-weights", number: null, finding: "wide-weights", figure: 16, remedy: /llama-quantize/, make: (directory) => void record(directory, runner(model("tiny", ...shapes, "--types", "bf16"))) },
    { name: "f32-weights", number: null, finding: "wide-weights", figure: 32, remedy: /llama-quantize/, make: (directory) => void record(directory, runner(model("tiny", ...shapes, "--types", "f32"))) },
    { name: "sse-library", number: null, finding: "cpu-library", remedy: /libggml-cpu/, also: ["weights-not-repacked"],
      make: (directory) => (variant === "x64" ? { skip: "this CPU has no better library" } : void record(directory, runner(small(), "--engine", engineOf("sse42")))) },
    { name: "logits-hash", number: null, finding: "prompt-outputs", remedy: /--logits-hash/, make: (directory) => void record(directory, runner(small(), "--logits-hash")) },
    { name: "callback-on-two-threads", number: null, finding: "eval-callback", remedy: /--eval-callback/, also: ["between-decodes"], make: (directory) => void record(directory, runner(small(), "--eval-callback", "-n", "8")) },
    { name: "one-core-of-many", number: null, finding: "too-few-threads", figure: 1, quiet: true, remedy: new RegExp(`n_threads = ${wholeCores}`),
      make: (directory) => (wholeCores < 2 ? { skip: "there is one core" } : planted(directory, "healthy", "-t", "1")) },
];

// Healthy runs: no finding above 5 %, except for other programs on the machine.
export const healthy = [
    ...[8, 16, 24, 32].map((n) => (directory) => record(directory, runner(middle(), "-n", String(n)))),
    ...[8, 24].map((n) => (directory) => record(directory, runner(model("tiny", ...shapes, "--types", "q4_0"), "-n", String(n)))),
    ...[16, 32].map((n) => (directory) => record(directory, [...runner(middle()), "-p", "Once", "-n", String(n)])),
    (directory) => record(directory, runner(model("moe"))),
    (directory) => planted(directory, "hit", "-t", String(cores)),
];
