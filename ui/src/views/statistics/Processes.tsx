// Several processes: where the time between the first and the last step goes, and the traffic
// between them.
import type { Processes } from "../../api";
import { bytes, count, share, time } from "../../format";
import { Computed } from "../../shell/Computed";
import { Table } from "./Table";

const linked = [
    ["client", "client computes", "client_compute_ns", "#56b4e9", ""],
    ["server", "servers compute", "server_compute_ns", "#0072b2", "pattern-horizontal"],
    ["wire", "on the wire", "wire_ns", "#d55e00", "pattern-diagonal"],
    ["idle", "idle", "idle_ns", "var(--empty)", "pattern-hatch"],
] as const;
const apart = [["server", "computing", "server_compute_ns", "#0072b2", "pattern-horizontal"], linked[3]] as const;

export function ProcessesPart({ processes }: { processes: Processes }) {
    const { time: spent, links, by_process: all } = processes;
    // Without graphs sent between processes there is no client, no server and no wire.
    const isLinked = links.length > 0;
    const parts = isLinked ? linked : apart;
    const nameOf = (process: number | null) => all.find((one) => one.process === process)?.name ?? "not recorded";
    return (
        <section class="table-part" id="part-processes">
            <div class="table-head">
                <h3>Where the time went</h3>
                <span class="quiet">of {time(spent.wall_ns)} from the first step to the last</span>
            </div>
            <div class="stacked" aria-hidden="true">
                {parts.map(([key, , of, colour, pattern]) => (
                    <i key={key} class={pattern} style={{ width: `${(100 * spent[of]) / Math.max(1, spent.wall_ns)}%`, "--swatch": colour }} />
                ))}
            </div>
            <dl class="tiles">
                {parts.map(([key, name, of, colour, pattern]) => (
                    <div class="tile" data-tile={`processes-${key}`}>
                        <dt>
                            <i class={`swatch ${pattern}`} style={{ "--swatch": colour }} />
                            {name}
                        </dt>
                        <dd class="tile-value">{share(spent[of], spent.wall_ns)}</dd>
                        <dd class="quiet">{time(spent[of])}</dd>
                    </div>
                ))}
            </dl>
            <Table
                caption="Links between processes"
                file="links"
                rows={links}
                rowKey={(row) => `${row.client} ${row.backend}`}
                columns={[
                    { key: "backend", title: "backend", value: (row) => row.backend },
                    { key: "server", title: "server", value: (row) => nameOf(row.server) },
                    { key: "runs", title: "graph runs", value: (row) => row.runs, show: (row) => (row.matched_runs === row.runs ? count(row.runs) : `${count(row.matched_runs)} of ${count(row.runs)} seen at both ends`), numeric: true },
                    { key: "round_trip_ns", title: "round trip", value: (row) => row.round_trip_ns, show: (row) => time(row.round_trip_ns), numeric: true, hint: "from sending a graph to having its results, summed" },
                    { key: "server_ns", title: "server", value: (row) => row.server_ns, show: (row) => `${time(row.server_ns)} (${share(row.server_ns, row.round_trip_ns)})`, numeric: true, hint: "of the round trip, while the server computed" },
                    { key: "bytes_sent", title: "sent", value: (row) => row.bytes_sent, show: (row) => bytes(row.bytes_sent), numeric: true },
                    { key: "bytes_loaded", title: "to load", value: (row) => row.bytes_loaded, show: (row) => bytes(row.bytes_loaded), numeric: true, hint: "of those sent, before the first step" },
                    { key: "bytes_received", title: "received", value: (row) => row.bytes_received, show: (row) => bytes(row.bytes_received), numeric: true },
                ]}
                empty="No process sent graphs to another one."
            />
            <Computed command="ggscope stats">{isLinked ? "Each moment is the first of these that is true: a client computes, a server computes, graphs or tensors are on their way, nothing happens." : "A moment is idle if none of the processes computes."}</Computed>
        </section>
    );
}
