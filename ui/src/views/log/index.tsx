// View 4: every op, one row each.
import { useApplied } from "../../applied";
import { LogTable } from "./LogTable";

export { LogTable } from "./LogTable";

export default function Log() {
    useApplied("tokens", "layer", "tensor", "opType", "op", "region", "buffer", "expert", "lane", "time", "request");
    return (
        <div class="log-view">
            <h2 class="unseen">Log</h2>
            <LogTable />
        </div>
    );
}
