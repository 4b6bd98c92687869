// The log as a table of any length: only visible rows are fetched and drawn.
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { revision } from "../../ask";
import { count, roughly } from "../../format";
import { announce } from "../../shell/Announce";
import { here, select, selection } from "../../state";
import { download, toCsv } from "../statistics/csv";
import { savedColumns } from "./columns";
import { logSort, logSource, threadOfLane } from "./extras";
import { Chips, FilterBar } from "./FilterBar";
import { filterQuery, sortQuery, type Sort } from "./filter";
import { Pages } from "./pages";
import { Rows } from "./Rows";
import "./log.css";

// `compact`: shown below another picture; if closed, it shows only the number of rows.
export function LogTable({ compact = false, isClosed = false }: { compact?: boolean; isClosed?: boolean }) {
    const rowHeight = compact ? 20 : 24;
    const sort = logSort.value;
    const setSort = (next: Sort | null) => (logSort.value = next);
    const query = filterQuery({ ...selection.value, source: logSource.value, thread: threadOfLane() });
    const { pages, version, isStale } = usePages(here("log"), query + sortQuery(sort));
    const ops = useMemo(() => new Set<string>(), []);
    return (
        <div class={`log${compact ? " compact" : ""}${isStale ? " stale" : ""}`}>
            <div class="log-bar">
                {compact ? <Chips /> : <FilterBar ops={[...ops].sort()} />}
                {!compact && <Save pages={pages} version={version} />}
                <Count pages={pages} version={version} filtered={query !== ""} isStale={isStale} />
            </div>
            {pages.error ? (
                <p class="failed" role="alert">
                    {pages.error}
                </p>
            ) : null}
            {!isClosed && <Rows pages={pages} version={version} rowHeight={rowHeight} ops={ops} sort={sort} setSort={setSort} whole={query === "" && sort === null} />}
        </div>
    );
}

// The pages of a query. The previous answer stays until the first rows arrive. `version` increases
// with new rows, because `pages` is one mutable object and components with equal properties do not
// render again.
function usePages(path: string, query: string): { pages: Pages; version: number; isStale: boolean } {
    const [version, draw] = useReducer((n: number) => n + 1, 0);
    const held = useRef<Pages | null>(null);
    const now = revision.value;
    const asked = useMemo(() => {
        const pages = new Pages(path, query, () => draw(0));
        pages.want(0, 1);
        return pages;
    }, [path, query, now]);
    useEffect(() => () => asked.stop(), [asked]);
    if (asked.total !== null || asked.error !== null || held.current?.path !== path) held.current = asked;
    held.current!.progress = asked.progress;
    return { pages: held.current!, version, isStale: held.current !== asked };
}

function Count({ pages, filtered, isStale }: { pages: Pages; version: number; filtered: boolean; isStale: boolean }) {
    const { total, of, progress } = pages;
    useEffect(() => {
        if (filtered && total !== null && of !== null) announce(`${count(total)} of ${count(of)} rows`);
    }, [filtered, total, of]);
    if (progress !== null || isStale)
        return (
            <span class="log-count" role="status">
                {logSort.value ? "sorting" : "searching"} {progress === null ? "…" : `${Math.round(progress * 100)} %`}
            </span>
        );
    if (total === null) return <span class="log-count">…</span>;
    if (!filtered)
        return (
            <span class="log-count" data-total={total}>
                {count(total)} {total === 1 ? "row" : "rows"}
            </span>
        );
    const clear = () => {
        select({ tokens: null, layer: null, tensor: null, opType: null, region: null, buffer: null, expert: null, lane: null, time: null });
        logSource.value = null;
    };
    return (
        <button type="button" class="log-chip log-count" data-total={total} data-of={of} onClick={clear} title="Take all filters back">
            {count(total)} of {roughly(of ?? 0)} rows <span aria-hidden="true">×</span>
            <span class="unseen">, take all filters back</span>
        </button>
    );
}

// Larger tables should be exported by the command line.
const MOST_SAVED = 100_000;

function Save({ pages }: { pages: Pages; version: number }) {
    const [busy, setBusy] = useState(false);
    const tooMany = (pages.total ?? 0) > MOST_SAVED;
    const save = async () => {
        setBusy(true);
        try {
            download("log.csv", toCsv([...savedColumns], (await pages.all(MOST_SAVED)).map((row) => savedColumns.map((key) => row[key]))));
        } catch (cause) {
            announce(`The log was not saved: ${cause instanceof Error ? cause.message : String(cause)}`);
        }
        setBusy(false);
    };
    const hint = tooMany ? `More than ${count(MOST_SAVED)} rows: narrow the filter, or use ggscope export --format csv` : "Save these rows";
    return (
        <button
            type="button"
            class="quiet"
            disabled={busy || tooMany || !pages.total}
            title={hint}
            aria-label={`CSV: ${hint}`}
            onClick={() => void save()}
        >
            CSV
        </button>
    );
}
