// Answers without a server: runs the WebAssembly module of src/wasm (module.c lists its exports)
// and provides its imports.

export interface Reply {
    status: number; // HTTP status
    json: boolean; // else columns
    body: ArrayBuffer;
}

interface Exports {
    memory: WebAssembly.Memory;
    _initialize(): void;
    ggs_new(size: number): number;
    ggs_delete(at: number): void;
    ggs_add_file(path: number, data: number, known: number, size: number): number;
    ggs_add_experiment(path: number, directory: number, name: number, state: number): number;
    ggs_ask(target: number): number;
    ggs_reply_status(answer: number): number;
    ggs_reply_is_json(answer: number): number;
    ggs_reply_data(answer: number): number;
    ggs_reply_length(answer: number): number;
    ggs_reply_drop(answer: number): void;
}

const elsewhere = "Open the experiment with ggscope serve.";
const memoryOut = `This is more than the browser gives a page of memory. ${elsewhere}`;

export class Engine {
    private constructor(private readonly module: Exports) {}

    // Calls `progress` with numbers from 0 to 1 while a question is answered.
    static async start(code: BufferSource, progress: (share: number) => void): Promise<Engine> {
        const module = await WebAssembly.compile(code);
        // Imports of the module's C library. There is no system: every call fails with EBADF.
        const system = WebAssembly.Module.imports(module).filter(({ module: from }) => from === "wasi_snapshot_preview1");
        const instance = await WebAssembly.instantiate(module, {
            ggscope: { progress },
            wasi_snapshot_preview1: Object.fromEntries(system.map(({ name }) => [name, () => 8])),
        });
        const exports = instance.exports as unknown as Exports;
        exports._initialize();
        return new Engine(exports);
    }

    // Copies bytes into the module's memory.
    private place(bytes: Uint8Array): number {
        const at = this.module.ggs_new(bytes.length) >>> 0;
        if (at === 0) throw new Error(memoryOut);
        new Uint8Array(this.module.memory.buffer, at, bytes.length).set(bytes);
        return at;
    }

    private withTexts<T>(texts: string[], use: (...at: number[]) => T): T {
        const places = texts.map((text) => this.place(new TextEncoder().encode(`${text}\0`)));
        try {
            return use(...places);
        } finally {
            for (const at of places) this.module.ggs_delete(at);
        }
    }

    // Adds a file at this path: a trace, or the head of a model of `size` bytes.
    addFile(path: string, bytes: Uint8Array, size: number): void {
        const data = this.place(bytes);
        const failed = this.withTexts([path], (at) => this.module.ggs_add_file(at, data, bytes.length, size));
        if (failed) throw new Error(memoryOut);
    }

    // Opens the trace at a path as the next experiment and returns its number. If it cannot be
    // opened, /api/experiments gives the reason.
    addExperiment(path: string, directory: string, name: string, state: string): number {
        const number = this.withTexts([path, directory, name, state], (...at) => this.module.ggs_add_experiment(at[0]!, at[1]!, at[2]!, at[3]!));
        if (number < 0) throw new Error(memoryOut);
        return number;
    }

    ask(target: string): Reply {
        const { module } = this;
        const answer = this.withTexts([target], (at) => {
            try {
                return module.ggs_ask(at);
            } catch (cause) {
                throw new Error(`The engine of this report failed (${cause instanceof Error ? cause.message : String(cause)}). ${elsewhere}`);
            }
        });
        if (answer === 0) throw new Error(memoryOut);
        const at = module.ggs_reply_data(answer) >>> 0;
        const reply = {
            status: module.ggs_reply_status(answer),
            json: module.ggs_reply_is_json(answer) !== 0,
            body: module.memory.buffer.slice(at, at + (module.ggs_reply_length(answer) >>> 0)),
        };
        module.ggs_reply_drop(answer);
        return reply;
    }
}
