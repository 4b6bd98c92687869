// The fetched rows of the log, by page. One object per query (filter and order). Pages out of sight
// are dropped.
import type { LogAnswer, LogRow } from "../../api";
import { AskError, askJob } from "../../ask";

const PAGE = 200,
    KEPT = 32;

export class Pages {
    total: number | null = null; // rows that match
    of: number | null = null; // rows without a filter
    progress: number | null = null;
    error: string | null = null;
    private readonly pages = new Map<number, LogRow[]>();
    private readonly pending = new Map<number, AbortController>();

    // `path` has all parameters except from and count. `changed` is called when there is something
    // new to draw.
    constructor(
        readonly path: string,
        readonly query: string,
        private readonly changed: () => void,
    ) {}

    row(index: number): LogRow | undefined {
        return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
    }

    // The position of an op's row among the fetched ones; null if it is not there.
    find(run: number, node: number): number | null {
        for (const [page, rows] of this.pages) {
            const i = rows.findIndex((row) => row.run === run && row.node === node);
            if (i >= 0) return page * PAGE + i;
        }
        return null;
    }

    // Requests these rows and aborts requests for rows that are no longer visible.
    want(first: number, count: number): void {
        const [from, to] = [Math.floor(first / PAGE), Math.floor(Math.max(first, first + count - 1) / PAGE)];
        for (const [page, abort] of this.pending) {
            if (page < from || page > to) {
                abort.abort();
                this.pending.delete(page);
            }
        }
        for (let page = from; page <= to; page++) if (!this.pages.has(page) && !this.pending.has(page)) void this.load(page);
    }

    stop(): void {
        for (const abort of this.pending.values()) abort.abort();
        this.pending.clear();
    }

    // All rows from `first` on, for saving. At most `most`.
    async all(most: number): Promise<LogRow[]> {
        const rows: LogRow[] = [];
        for (let from = 0; from < Math.min(this.total ?? 0, most); from += 500) {
            const answer = await askJob<LogAnswer>(`${this.path}?from=${from}&count=${Math.min(500, most - from)}${this.query}`);
            if (answer.ops.length === 0) break;
            rows.push(...answer.ops);
        }
        return rows;
    }

    private async load(page: number): Promise<void> {
        const abort = new AbortController();
        this.pending.set(page, abort);
        try {
            const path = `${this.path}?from=${page * PAGE}&count=${PAGE}${this.query}`;
            const answer = await askJob<LogAnswer>(path, (progress) => this.say(progress), abort.signal);
            if (abort.signal.aborted) return;
            this.keep(page, answer);
        } catch (cause) {
            if (abort.signal.aborted) return;
            this.error = cause instanceof AskError || cause instanceof Error ? cause.message : String(cause);
        }
        this.pending.delete(page);
        this.progress = null;
        this.changed();
    }

    private say(progress: number): void {
        this.progress = progress;
        this.changed();
    }

    private keep(page: number, answer: LogAnswer): void {
        this.error = null;
        this.total = answer.total;
        this.of = answer.of;
        this.pages.delete(page);
        this.pages.set(page, answer.ops);
        if (this.pages.size > KEPT) this.pages.delete(this.pages.keys().next().value!);
    }
}
