// Whether a device waited for the host: its previous op had ended when the host submitted this one.
import type { OpAnswer } from "../../api";
import { useAsk } from "../../ask";
import { time } from "../../format";
import { here } from "../../state";

export function DeviceWait({ op }: { op: OpAnswer }) {
    const before = useAsk<OpAnswer>(op.previous && op.previous.run === op.run ? here("op", op.previous) : null, { keep: true }).data;
    if (!before || before.begin_ns === null || before.duration_ns === null || op.submit_ns === null || before.backend !== op.backend) return null;
    const late = op.submit_ns - (before.begin_ns + before.duration_ns);
    return late > 0 ? <div data-device-wait>{op.backend} waited {time(late)} for the host</div> : null;
}
