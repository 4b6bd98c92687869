// The visible rows, positioned on a spacer with the height of all rows.
import { logTop } from "./extras";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { LogAnswer, LogRow, OpAnswer } from "../../api";
import { useAsk } from "../../ask";
import { announce } from "../../shell/Announce";
import { here, select, selection } from "../../state";
import { columnsFor, type LogColumn } from "./columns";
import { nextSort, type Sort } from "./filter";
import type { Pages } from "./pages";
import { clampTop, MOST, reveal, rowsAt, scrollTopOf, spacer, topOf, visible, type Scroll } from "./scroll";

const HEAD = 28;

export interface RowsProps {
    pages: Pages;
    version: number;
    rowHeight: number;
    ops: Set<string>; // gathers the names of those that were seen
    sort: Sort | null;
    setSort(sort: Sort | null): void;
    whole: boolean; // neither filtered nor sorted: a row's place is its number
}

export function Rows({ pages, rowHeight, ops, sort, setSort, whole }: RowsProps) {
    const place = usePlace(pages, rowHeight);
    const { box, scroll, top, height, go } = place;
    const { first, count: n, offset } = rowsAt(scroll, top);
    const { shown: columns, template, least } = useMemo(() => columnsFor(place.width, parseFloat(getComputedStyle(document.documentElement).fontSize)), [place.width]);
    const [active, setActive] = useState<number | null>(null);
    const pressed = useRef<string | null>(null);
    useEffect(() => {
        if (pages.total !== null) pages.want(first, Math.max(1, n));
    }, [pages, first, n, pages.total]);
    // The address has the scroll position of the first query; another query starts at the top.
    const asked = useRef(`${pages.path}${pages.query}`);
    useEffect(() => {
        const question = `${pages.path}${pages.query}`;
        if (question === asked.current) return;
        asked.current = question;
        setActive(null);
        go(0);
    }, [pages.path, pages.query]);
    const isThere = useRef(false);
    useEffect(() => {
        if (isThere.current || scroll.rows === 0 || height <= HEAD) return;
        isThere.current = true;
        if (logTop.peek() > 0) go(logTop.peek());
    });
    useEffect(() => {
        if (isThere.current) logTop.value = Math.round(top * 100) / 100;
    }, [top]);
    useFollow(whole, pages, pressed, (row) => {
        setActive(row);
        if (row < top || row + 1 > top + visible(scroll)) go(row - visible(scroll) / 3);
    });

    const press = (index: number) => {
        setActive(index);
        const row = pages.row(index);
        if (!row) return;
        pressed.current = `${row.run} ${row.node}`;
        select({ op: { run: row.run, node: row.node } });
        announce(`row ${row.row}: ${row.op} ${row.name}`);
    };
    const onKeyDown = (event: KeyboardEvent) => {
        if (scroll.rows === 0 || event.target !== box.current || event.ctrlKey || event.altKey || event.metaKey) return;
        const next = event.key === "Enter" ? null : keyTarget(event.key, active, top, scroll);
        if (next === undefined) return;
        event.preventDefault();
        event.stopPropagation();
        if (next === null) return press(active ?? Math.ceil(top));
        setActive(next);
        go(reveal(scroll, top, next));
    };
    // Rows that leave at one end are reused at the other: elements are moved, not created.
    const ring = Math.ceil(visible(scroll)) + 1;
    const inSight = active !== null && active >= first && active < first + n;
    return (
        <div
            class="log-scroll"
            role="grid"
            aria-label="Trace log"
            aria-rowcount={scroll.rows + 1}
            aria-colcount={columns.length}
            aria-activedescendant={inSight ? `log-row-${active}` : undefined}
            tabIndex={0}
            ref={box}
            onScroll={place.onScroll}
            onWheel={place.onWheel}
            onKeyDown={onKeyDown}
            style={{ "--columns": template, "--row": `${rowHeight}px` }}
        >
            <div class="log-inner" role="presentation" style={{ height: `${spacer(scroll) + HEAD}px`, minWidth: `${Math.ceil(least)}px` }}>
                <div class="log-sticky" role="presentation" style={{ height: `${height}px` }}>
                    <Head columns={columns} sort={sort} setSort={setSort} />
                    <div class="log-rows" role="presentation">
                        {Array.from({ length: n }, (_, i) => {
                            const row = pages.row(first + i);
                            if (row) ops.add(row.op);
                            const y = offset + i * rowHeight;
                            return <OneRow columns={columns} key={(first + i) % ring} index={first + i} row={row} y={y} active={active === first + i} press={press} />;
                        })}
                    </div>
                    {pages.total === 0 && <p class="empty log-nothing">No op matches this filter.</p>}
                </div>
            </div>
        </div>
    );
}

// The scroll position. Short tables scroll natively; in long ones the thumb maps to a fraction of
// the rows, and the wheel moves by rows.
function usePlace(pages: Pages, rowHeight: number) {
    const box = useRef<HTMLDivElement>(null);
    const [{ width, height }, setSize] = useState({ width: 1200, height: 400 });
    const [top, setTop] = useState(0);
    const own = useRef(-1); // last thumb position set by this code
    const scroll: Scroll = { rows: pages.total ?? 0, rowHeight, view: Math.max(rowHeight, height - HEAD) };
    useEffect(() => {
        const measure = () => box.current && setSize({ width: box.current.clientWidth, height: box.current.clientHeight });
        const observer = new ResizeObserver(measure);
        observer.observe(box.current!);
        measure();
        return () => observer.disconnect();
    }, []);
    const go = (to: number) => {
        const next = clampTop(scroll, to);
        setTop(next);
        if (!box.current) return;
        box.current.scrollTop = scrollTopOf(scroll, next);
        own.current = box.current.scrollTop;
    };
    const onScroll = () => {
        const at = box.current!.scrollTop;
        if (Math.abs(at - own.current) < 1) return;
        own.current = -1;
        setTop(topOf(scroll, at));
    };
    const onWheel = (event: WheelEvent) => {
        if (event.ctrlKey || event.shiftKey || spacer(scroll) < MOST) return;
        event.preventDefault();
        const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? rowHeight : scroll.view;
        go(top + (event.deltaY * unit) / rowHeight);
    };
    return { box, scroll, top, width, height, go, onScroll, onWheel };
}

// The row to which a key leads; undefined for keys that lead nowhere.
function keyTarget(key: string, active: number | null, top: number, scroll: Scroll): number | undefined {
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
    const wanted = steps[key];
    return wanted === undefined ? undefined : Math.min(scroll.rows - 1, Math.max(0, wanted));
}

function Head({ columns, sort, setSort }: Pick<RowsProps, "sort" | "setSort"> & { columns: LogColumn[] }) {
    return (
        <div class="log-head" role="row" aria-rowindex={1}>
            {columns.map((column) => {
                const order = sort?.column === column.key ? (sort.descending ? "descending" : "ascending") : "none";
                const press = () => setSort(nextSort(sort, column.key, column.descendingFirst ?? false));
                return (
                    <div role="columnheader" key={column.key} class={column.numeric ? "number" : undefined} aria-sort={order}>
                        <button type="button" title={`${column.hint}; press to sort`} onClick={press}>
                            {column.title}
                            <span aria-hidden="true" class="arrow">
                                {{ none: "", descending: "▼", ascending: "▲" }[order]}
                            </span>
                        </button>
                    </div>
                );
            })}
        </div>
    );
}

interface OneRowProps {
    columns: LogColumn[];
    index: number;
    row: LogRow | undefined; // not there yet
    y: number;
    active: boolean;
    press(index: number): void;
}

function OneRow({ columns, index, row, y, active, press }: OneRowProps) {
    const chosen = selection.value.op;
    const selected = row !== undefined && chosen !== null && chosen.run === row.run && chosen.node === row.node;
    const marks = { odd: index % 2 === 1, selected, active, loading: row === undefined };
    const classes = Object.entries(marks).flatMap(([name, is]) => (is ? [name] : []));
    return (
        <div
            role="row"
            id={`log-row-${index}`}
            class={["log-row", ...classes].join(" ")}
            aria-rowindex={index + 2}
            aria-selected={selected}
            style={{ transform: `translateY(${y}px)` }}
            onClick={() => press(index)}
        >
            {columns.map((column) => (
                <div role="gridcell" key={column.key} class={column.numeric ? "number" : undefined}>
                    {row ? column.show(row) : "…"}
                </div>
            ))}
        </div>
    );
}

// Scrolls to the op that another view selected. In the unfiltered log its row is known. In a
// filtered one, as many rows as begin earlier stand above it, and its place is exact as soon as the
// rows there are loaded. A sorted log is searched as far as it is loaded.
function useFollow(whole: boolean, pages: Pages, pressed: { current: string | null }, show: (row: number) => void) {
    const op = selection.value.op;
    const ready = pages.total !== null;
    const mine = op !== null && pressed.current === `${op.run} ${op.node}`;
    const shown = useRef("");
    const key = op && `${op.run} ${op.node} ${pages.query}`;
    const isAsked = op !== null && !mine && shown.current !== key;
    const found = op === null ? null : pages.find(op.run, op.node);
    const { data } = useAsk<OpAnswer>(isAsked ? here("op", op) : null);
    const isNear = isAsked && !whole && found === null && !pages.query.includes("&sort=") && typeof data?.begin_ns === "number";
    const earlier = useAsk<LogAnswer>(isNear ? `${pages.path}?from=0&count=0${pages.query.replace(/&until=\d+/, "")}&until=${data.begin_ns}` : null).data;
    const exact = whole ? (data?.row ?? null) : found;
    const row = !isAsked ? null : (exact ?? (earlier?.total ? earlier.total - 1 : null));
    useEffect(() => {
        if (row === null || !ready) return;
        show(row);
        if (exact !== null) shown.current = key!;
    }, [row, exact, ready]);
}
