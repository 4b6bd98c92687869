// In which order the model is read: how much continues, how far it jumps, how soon it comes again.
import { useMemo } from "preact/hooks";
import { bytes, count, plural, share } from "../../format";
import { bins, type Pattern } from "./answers";
import { Table } from "./Table";

export function Order({ pattern }: { pattern: Pattern }) {
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
                        <strong data-sequential={sequential}>{share(sequential, 1)}</strong> of the bytes continue where the read before ended;{" "}
                        {plural(pattern.jumps, "jump")} in {plural(pattern.reads, "read")}.
                        {again !== null && (
                            <>
                                {" "}
                                <strong>{share(again, 1)}</strong> are read again later.
                            </>
                        )}
                    </>
                )}
            </p>
            <div class="statistics-columns">
                <Histogram title="How far a jump goes" file="jumps" unit="jumps" counts={pattern.jump_bins} show={count} />
                <Histogram
                    title="What is read between two reads of the same tensor"
                    file="reuse"
                    unit="bytes"
                    counts={pattern.reuse_bins}
                    show={bytes}
                />
            </div>
        </section>
    );
}

function Histogram({ title, file, unit, counts, show }: { title: string; file: string; unit: string; counts: number[]; show(n: number): string }) {
    const rows = useMemo(() => bins(counts), [counts]);
    const most = Math.max(1, ...rows.map((r) => r.value));
    const whole = rows.reduce((sum, r) => sum + r.value, 0);
    return (
        <Table
            caption={title}
            file={file}
            rows={rows}
            rowKey={(r) => String(r.from)}
            most={64}
            empty="Nothing to count."
            columns={[
                {
                    key: "below",
                    title: "below",
                    value: (r) => r.to,
                    show: (r) => (r.from === 0 ? "0 B" : bytes(r.to)),
                    numeric: true,
                    ascending: true,
                },
                { key: unit, title: unit, value: (r) => r.value, show: (r) => show(r.value), numeric: true, bar: (r) => r.value / most },
                { key: "share", title: "share", value: (r) => r.value / Math.max(1, whole), show: (r) => share(r.value, whole), numeric: true },
            ]}
        />
    );
}
