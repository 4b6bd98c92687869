// Estimated op times for graph runs of devices without op times, from the shares of graph runs that
// have them. Never mixed with measured times.
import type { Stats } from "../../api";
import { plural, share, time } from "../../format";

export function Estimate({ estimated }: { estimated: Stats["estimated"] }) {
    if (!estimated) return null;
    const all = estimated.by_op.reduce((sum, row) => sum + row.wall_ns, 0);
    return (
        <details class="quiet" data-part="estimated">
            <summary>
                Estimated: {plural(estimated.runs, "graph run")} of devices ({time(estimated.run_ns)}) have no op times; with the shares of the {estimated.from_runs} that have, ops of devices take in all about
            </summary>
            <table>
                <tbody>
                    {estimated.by_op.map((row) => (
                        <tr key={row.op}>
                            <th scope="row">{row.op}</th>
                            <td class="number">~ {time(row.wall_ns)}</td>
                            <td class="number">{share(row.wall_ns, all)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </details>
    );
}
