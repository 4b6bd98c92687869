// Devices over time: busy share, and transfers to and from their memory.
import type { Summary } from "../../api";
import type { Columns } from "../../ask";
import { opFamily } from "../../colours";
import type { Held } from "./data";
import type { Curve } from "./draw";
import { shortLabel } from "./processes";
import { stripOf } from "./strips";

const firstQueue = 1024; // slots of device lanes start here; graph runs without op times have none
const widest = 1024;

// Grey: graph runs without op times.
export function busyCurves(held: Held | null, lanes: Summary["lanes"]): Curve[] {
    if (!held) return [];
    const { tile, data } = held;
    const width = Math.min(widest, tile.pixels), step = (tile.end - tile.begin) / width;
    const names = [...new Set(lanes.filter((lane) => lane.slot >= firstQueue || lane.slot < 0).map(({ label }) => label.replace(/ queue \d+$/, "")))];
    const busy = (name: string, isWanted: (slot: number) => boolean) => {
        const sum = new Float32Array(width);
        for (const lane of lanes)
            if (isWanted(lane.slot) && lane.label.replace(/ queue \d+$/, "") === name) stripOf(data, lane.lane, tile, width).busy.forEach((value, x) => (sum[x] = Math.min(1, sum[x]! + value)));
        return sum;
    };
    // Below its process name a device is labelled by its short name, if that is unique.
    const isUnique = (short: string) => names.filter((name) => shortLabel(name, true) === short).length === 1;
    const own = (name: string) => (isUnique(shortLabel(name, true)) ? shortLabel(name, true) : name);
    return names.map((name) => ({
        name: `${own(name)} busy`,
        meaning: "share of each bin in which ops ran on the device; grey: graph runs whose ops were not seen",
        most: "share",
        layers: [
            { values: busy(name, (slot) => slot >= firstQueue), colour: opFamily("MUL_MAT").colour },
            { values: busy(name, (slot) => slot < 0), colour: opFamily("").colour },
        ],
        begin: tile.begin,
        step,
    }));
}

export function transferCurves(curves: Columns | null): Curve[] {
    if (!curves || curves.rows === 0 || !curves.has("bytes_to_devices")) return [];
    const layer = (name: string, op: string) => ({ values: curves.column(name), colour: opFamily(op).colour });
    return [
        {
            name: "transfers",
            meaning: "bytes moved to devices, and above them from devices, while the host's calls lasted",
            most: "rate",
            layers: [layer("bytes_to_devices", "SET_ROWS"), layer("bytes_from_devices", "GET_ROWS")],
            begin: curves.base_ns,
            step: Number(curves.header["bin_ns"]),
        },
    ];
}
