// View 4: every op, one row each.
import { LogTable } from "./LogTable";

export { LogTable } from "./LogTable";

export default function Log() {
    return (
        <div class="log-view">
            <h2 class="unseen">Log</h2>
            <LogTable />
        </div>
    );
}
