// The log as a table of any length: only what is seen is fetched and drawn.
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { logColumns, type LogRow, type OpAnswer } from "../../api";
import { revision, useAsk } from "../../ask";
import { count, roughly } from "../../format";
import { announce } from "../../shell/Announce";
import { here, select, selection } from "../../state";
import { download, toCsv } from "../statistics/csv";
import { columns, template } from "./columns";
import { logExtras } from "./extras";
import { Chips, FilterBar } from "./FilterBar";
import { filterQuery, nextSort, sortQuery, type Sort } from "./filter";
import { Pages } from "./pages";
import { clampTop, MOST, reveal, rowsAt, scrollTopOf, spacer, topOf, visible, type Scroll } from "./scroll";
import "./log.css";

const HEAD = 28;

export function LogTable({ compact = false }: { compact?: boolean }) {
    const rowHeight = compact ? 20 : 24;
    const [sort, setSort] = useState<Sort | null>(null);
    const query = filterQuery({ ...selection.value, ...logExtras.value });
    const { pages, version } = usePages(here("log"), query + sortQuery(sort));
    const ops = useMemo(() => new Set<string>(), []);
    return (
        <div class={compact ? "log compact" : "log"}>
            <div class="log-bar">
                {compact ? <Chips /> : <FilterBar ops={[...ops].sort()} />}
                {!compact && <Save pages={pages} version={version} />}
                <Count pages={pages} version={version} filtered={query !== ""} />
            </div>
            {pages.error ? (
                <p class="failed" role="alert">
                    {pages.error}
                </p>
            ) : null}
            <Rows
                pages={pages}
                version={version}
                rowHeight={rowHeight}
                ops={ops}
                sort={sort}
                setSort={setSort}
                whole={query === "" && sort === null}
            />
        </div>
    );
}

// The pages of a question. The answer to the question before stays until the new one has its first rows. The version grows with what
// the pages hold: they are one object, and a component whose properties stay the same is not drawn again.
function usePages(path: string, query: string): { pages: Pages; version: number } {
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
    return { pages: held.current!, version };
}

function Count({ pages, filtered }: { pages: Pages; version: number; filtered: boolean }) {
    const { total, of, progress } = pages;
    useEffect(() => {
        if (filtered && total !== null && of !== null) announce(`${count(total)} of ${count(of)} rows`);
    }, [filtered, total, of]);
    if (progress !== null)
        return (
            <span class="log-count" role="status">
                searching {Math.round(progress * 100)} %
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
        select({ tokens: null, layer: null, tensor: null, opType: null, region: null, buffer: null, time: null });
        logExtras.value = { source: null, thread: null };
    };
    return (
        <button type="button" class="log-chip log-count" data-total={total} data-of={of} onClick={clear} title="Take all filters back">
            {count(total)} of {roughly(of ?? 0)} rows <span aria-hidden="true">×</span>
            <span class="unseen">, take all filters back</span>
        </button>
    );
}

// Larger tables are a matter for a file that is written where the trace lies.
const MOST_SAVED = 100_000;

function Save({ pages }: { pages: Pages; version: number }) {
    const [busy, setBusy] = useState(false);
    const tooMany = (pages.total ?? 0) > MOST_SAVED;
    const save = async () => {
        setBusy(true);
        try {
            download("log.csv", toCsv([...logColumns], await pages.all(MOST_SAVED)));
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

interface RowsProps {
    pages: Pages;
    version: number;
    rowHeight: number;
    ops: Set<string>;
    sort: Sort | null;
    setSort(sort: Sort | null): void;
    whole: boolean; // neither filtered nor sorted: a row's place is its number
}

function Rows({ pages, rowHeight, ops, sort, setSort, whole }: RowsProps) {
    const box = useRef<HTMLDivElement>(null);
    const [height, setHeight] = useState(400);
    const [top, setTop] = useState(0);
    const [active, setActive] = useState<number | null>(null);
    const own = useRef(-1); // the thumb's place as we set it
    const pressed = useRef<string | null>(null);
    const scroll: Scroll = { rows: pages.total ?? 0, rowHeight, view: Math.max(rowHeight, height - HEAD) };
    const { first, count: n, offset } = rowsAt(scroll, top);

    useEffect(() => {
        const observer = new ResizeObserver(() => box.current && setHeight(box.current.clientHeight));
        observer.observe(box.current!);
        return () => observer.disconnect();
    }, []);
    useEffect(() => {
        if (pages.total !== null) pages.want(first, Math.max(1, n));
    }, [pages, first, n, pages.total]);
    useEffect(() => {
        setActive(null);
        go(0);
    }, [pages.path, pages.query]);

    const go = (to: number) => {
        const next = clampTop(scroll, to);
        setTop(next);
        if (box.current) {
            box.current.scrollTop = scrollTopOf(scroll, next);
            own.current = box.current.scrollTop;
        }
    };
    useFollow(whole, pages.total !== null, pressed, (row) => {
        setActive(row);
        if (row < top || row + 1 > top + visible(scroll)) go(row - visible(scroll) / 3);
    });

    const onScroll = () => {
        const at = box.current!.scrollTop;
        if (Math.abs(at - own.current) < 1) return;
        own.current = -1;
        setTop(topOf(scroll, at));
    };
    const onWheel = (event: WheelEvent) => {
        if (event.ctrlKey || event.shiftKey || spacer(scroll) < MOST) return;
        event.preventDefault();
        const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaMode === 1 ? event.deltaY * rowHeight : event.deltaY * scroll.view;
        go(top + pixels / rowHeight);
    };
    const press = (row: LogRow | undefined, index: number) => {
        setActive(index);
        if (!row) return;
        pressed.current = `${row[14]} ${row[15]}`;
        select({ op: { run: row[14], node: row[15] } });
        announce(`row ${row[0]}: ${row[4]} ${row[5]}`);
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (scroll.rows === 0 || event.target !== box.current) return;
        const page = Math.max(1, Math.floor(visible(scroll)) - 1);
        const at = active ?? Math.ceil(top);
        const steps: Record<string, number> = {
            ArrowDown: active === null ? at : at + 1,
            ArrowUp: at - 1,
            PageDown: at + page,
            PageUp: at - page,
            Home: 0,
            End: scroll.rows - 1,
        };
        if (event.key === "Enter") press(pages.row(at), at);
        else if (event.key in steps && !event.ctrlKey && !event.altKey && !event.metaKey) {
            const next = Math.min(scroll.rows - 1, Math.max(0, steps[event.key]!));
            setActive(next);
            go(reveal(scroll, top, next));
        } else return;
        event.preventDefault();
        event.stopPropagation();
    };

    const chosen = selection.value.op;
    const rows = Array.from({ length: n }, (_, i) => first + i);
    return (
        <div
            class="log-scroll"
            role="grid"
            aria-label="Trace log"
            aria-rowcount={scroll.rows + 1}
            aria-colcount={columns.length}
            tabIndex={0}
            ref={box}
            aria-activedescendant={active !== null && active >= first && active < first + n ? `log-row-${active}` : undefined}
            onScroll={onScroll}
            onWheel={onWheel}
            onKeyDown={onKeyDown}
            style={{ "--columns": template, "--row": `${rowHeight}px` }}
        >
            <div class="log-inner" role="presentation" style={{ height: `${spacer(scroll) + HEAD}px` }}>
                <div class="log-sticky" role="presentation" style={{ height: `${height}px` }}>
                    <div class="log-head" role="row" aria-rowindex={1}>
                        {columns.map((column) => {
                            const mine = sort?.column === column.key;
                            return (
                                <div
                                    role="columnheader"
                                    key={column.key}
                                    class={column.numeric ? "number" : undefined}
                                    aria-sort={mine ? (sort.descending ? "descending" : "ascending") : "none"}
                                >
                                    <button
                                        type="button"
                                        title={`${column.hint}; press to sort`}
                                        onClick={() => setSort(nextSort(sort, column.key, column.descendingFirst ?? false))}
                                    >
                                        {column.title}
                                        <span aria-hidden="true" class="arrow">
                                            {mine ? (sort.descending ? "▼" : "▲") : ""}
                                        </span>
                                    </button>
                                </div>
                            );
                        })}
                    </div>
                    <div class="log-rows" role="presentation">
                        {rows.map((index, i) => {
                            const row = pages.row(index);
                            if (row) ops.add(row[4]);
                            const selected = row !== undefined && chosen !== null && chosen.run === row[14] && chosen.node === row[15];
                            const classes = [
                                "log-row",
                                index % 2 ? "odd" : "",
                                selected ? "selected" : "",
                                index === active ? "active" : "",
                                row ? "" : "loading",
                            ]
                                .filter(Boolean)
                                .join(" ");
                            return (
                                <div
                                    role="row"
                                    id={`log-row-${index}`}
                                    key={index}
                                    class={classes}
                                    aria-rowindex={index + 2}
                                    aria-selected={selected}
                                    style={{ transform: `translateY(${offset + i * rowHeight}px)` }}
                                    onClick={() => press(row, index)}
                                >
                                    {columns.map((column) => (
                                        <div role="gridcell" key={column.key} class={column.numeric ? "number" : undefined}>
                                            {row ? column.show(row) : "…"}
                                        </div>
                                    ))}
                                </div>
                            );
                        })}
                    </div>
                    {pages.total === 0 && <p class="empty log-nothing">No op matches this filter.</p>}
                </div>
            </div>
        </div>
    );
}

// Brings the op that another view selected into sight. Only the unfiltered order has a known place for it.
function useFollow(whole: boolean, ready: boolean, pressed: { current: string | null }, show: (row: number) => void) {
    const op = selection.value.op;
    const mine = op !== null && pressed.current === `${op.run} ${op.node}`;
    const answer = useAsk<OpAnswer>(whole && op && !mine ? here("op", op) : null);
    const row = answer.data?.row ?? null;
    useEffect(() => {
        if (row !== null && ready) show(row);
    }, [row, ready]);
}
