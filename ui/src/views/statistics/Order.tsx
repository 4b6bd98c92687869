// The order of reads: how much is sequential, how far it jumps, how soon bytes are read again.
import { useMemo } from "preact/hooks";
import type { Stats } from "../../api";
import { bytes, count, plural, share } from "../../format";
import { chosenOps, type Parameters } from "../../state";
import { bins } from "./answers";
import { Table } from "./Table";

export function Order({ pattern }: { pattern: Stats["pattern"] }) {
    const sequential = pattern.bytes ? pattern.bytes_sequential / pattern.bytes : null;
    const again = pattern.bytes ? 1 - pattern.bytes_first / pattern.bytes : null;
    return (
        <section class="table-part">
            <div class="table-head">
                <h3>Order of reads from the model</h3>
            </div>
            <p>
                {sequential === null ? (
                    "The model was not read."
                ) : (
                    <>
                        <strong data-sequential={sequential}>{share(sequential, 1)}</strong> of the bytes continue where the read before ended, gaps of at
                        most {bytes(pattern.gap_bytes)} passed over ({share(pattern.bytes_sequential_strict, pattern.bytes)} without); {plural(pattern.jumps, "jump")} in{" "}
                        {plural(pattern.reads, "read")}, half of them of at most {bytes(pattern.jump_median)}, nine tenths of at most {bytes(pattern.jump_90)}.
                        {again !== null && again > 0 && (
                            <>
                                {" "}
                                <strong>{share(again, 1)}</strong> are read again: half of them after at most {bytes(pattern.reuse_median)} of reads, nine tenths after at most{" "}
                                {bytes(pattern.reuse_90)}.
                            </>
                        )}
                    </>
                )}
            </p>
            <div class="statistics-columns">
                <Histogram title="How far a jump goes" file="jumps" of="distance" unit="jumps" counts={pattern.jump_bins} show={count} />
                <Histogram
                    title="What is read from one read of a byte to its next"
                    file="reuse"
                    of="read until then"
                    unit="bytes"
                    counts={pattern.reuse_bins}
                    show={bytes}
                    figure={() => ({ kind: "reuse", ...chosenOps() })}
                />
            </div>
        </section>
    );
}

function Histogram({ title, file, of, unit, counts, show, figure }: { title: string; file: string; of: string; unit: string; counts: number[]; show(n: number): string; figure?: () => Parameters }) {
    const rows = useMemo(() => bins(counts), [counts]);
    const most = Math.max(1, ...rows.map((r) => r.value));
    const whole = rows.reduce((sum, r) => sum + r.value, 0);
    return (
        <Table
            caption={title}
            file={file}
            {...(figure ? { figure } : {})}
            rows={rows}
            rowKey={(r) => String(r.from)}
            most={64}
            empty="Nothing to count."
            columns={[
                {
                    key: "below",
                    title: of,
                    value: (r) => r.to,
                    show: (r) => (r.from === 0 ? "nothing" : `below ${bytes(r.to)}`),
                    numeric: true,
                    ascending: true,
                },
                { key: unit, title: unit, value: (r) => r.value, show: (r) => show(r.value), numeric: true, bar: (r) => r.value / most },
                { key: "share", title: "share", value: (r) => r.value / Math.max(1, whole), show: (r) => share(r.value, whole), numeric: true },
            ]}
        />
    );
}
