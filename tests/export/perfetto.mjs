// Reads a Perfetto trace with protobufjs: the relevant messages, declared by their documented field
// numbers, or all of Perfetto's public schema if GGSCOPE_PERFETTO_SCHEMA names its
// perfetto_trace.proto. Every byte must be understood. Interned strings are resolved like
// Perfetto's readers do: an entry is valid from its packet on.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

const proto = `
syntax = "proto2";
message Trace { repeated TracePacket packet = 1; }
message TracePacket {
    optional uint64 timestamp = 8;
    optional uint32 trusted_packet_sequence_id = 10;
    optional TrackEvent track_event = 11;
    optional InternedData interned_data = 12;
    optional uint32 sequence_flags = 13;
    optional TrackDescriptor track_descriptor = 60;
}
message EventName { optional uint64 iid = 1; optional string name = 2; }
message InternedString { optional uint64 iid = 1; optional bytes str = 2; }
message InternedData {
    repeated EventName event_categories = 1;
    repeated EventName event_names = 2;
    repeated EventName debug_annotation_names = 3;
    repeated InternedString debug_annotation_string_values = 29;
}
message DebugAnnotation {
    optional uint64 name_iid = 1;
    optional uint64 uint_value = 3;
    optional int64 int_value = 4;
    repeated DebugAnnotation array_values = 12;
    optional uint64 string_value_iid = 17;
}
message TrackEvent {
    enum Type { UNSPECIFIED = 0; SLICE_BEGIN = 1; SLICE_END = 2; INSTANT = 3; COUNTER = 4; }
    repeated uint64 category_iids = 3;
    repeated DebugAnnotation debug_annotations = 4;
    optional Type type = 9;
    optional uint64 name_iid = 10;
    optional uint64 track_uuid = 11;
    optional string name = 23;
    optional int64 counter_value = 30;
}
message ProcessDescriptor { optional int32 pid = 1; optional string process_name = 6; }
message CounterDescriptor { optional int32 unit = 3; optional string unit_name = 6; }
message TrackDescriptor {
    optional uint64 uuid = 1;
    optional string name = 2;
    optional ProcessDescriptor process = 3;
    optional uint64 parent_uuid = 5;
    optional CounterDescriptor counter = 8;
    optional int32 child_ordering = 11;
    optional int32 sibling_order_rank = 12;
}`;

// True if all fields of a message, also nested ones, are in the schema and of its types.
function known(type, bytes) {
    const wires = { int64: 0, uint64: 0, int32: 0, uint32: 0, bool: 0, double: 1, fixed64: 1, string: 2, bytes: 2 };
    for (let at = 0; at < bytes.length; ) {
        const number = () => {
            let value = 0n, shift = 0n, byte;
            do (byte = bytes[at++]), (value |= BigInt(byte & 127) << shift), (shift += 7n);
            while (byte > 127);
            return Number(value);
        };
        const tag = number(), field = type.fieldsById[tag >> 3], wire = tag & 7;
        assert.ok(field, `${type.name} has a field ${tag >> 3}`);
        const message = field.resolvedType?.fieldsById !== undefined;
        assert.equal(wire, message ? 2 : field.resolvedType ? 0 : wires[field.type], `${type.name}.${field.name}`);
        if (wire === 0) number();
        if (wire === 1) at += 8;
        if (wire !== 2) continue;
        const length = number();
        if (message) known(field.resolvedType, bytes.subarray(at, at + length));
        at += length;
        assert.ok(at <= bytes.length);
    }
}

const has = (message, field) => Object.prototype.hasOwnProperty.call(message, field);

// { tracks: uuid -> descriptor, slices: [{ track, name, category, begin, end, depth, args }],
// counters: [{ track, ns, value }] }
export function readPerfetto(protobuf, bytes) {
    const schema = process.env.GGSCOPE_PERFETTO_SCHEMA ? readFileSync(process.env.GGSCOPE_PERFETTO_SCHEMA, "utf8") : proto;
    const { root } = protobuf.parse(schema, { keepCase: true });
    root.resolveAll();
    const Trace = root.lookupType("Trace");
    known(Trace, bytes);
    const tracks = new Map(), slices = [], counters = [], stacks = new Map(), last = new Map();
    let tables = null; // interned strings; null before the state is cleared
    const resolve = (table, iid) => {
        const text = tables[table].get(Number(iid));
        assert.ok(Number(iid) > 0 && text !== undefined, `${table} has ${iid}`);
        return text;
    };
    const value = (a) =>
        has(a, "string_value_iid") ? resolve("debug_annotation_string_values", a.string_value_iid)
        : has(a, "uint_value") ? Number(a.uint_value)
        : has(a, "int_value") ? Number(a.int_value)
        : a.array_values.map(value);
    for (const packet of Trace.decode(bytes).packet) {
        assert.equal(packet.trusted_packet_sequence_id, 1);
        if (packet.sequence_flags & 1) tables = { event_categories: new Map(), event_names: new Map(), debug_annotation_names: new Map(), debug_annotation_string_values: new Map() };
        if (has(packet, "interned_data"))
            for (const [table, entries] of Object.entries(tables))
                for (const { iid, name, str } of packet.interned_data[table]) {
                    assert.ok(!entries.has(Number(iid)), `${table}: ${iid} is told once`);
                    entries.set(Number(iid), name || Buffer.from(str ?? []).toString("utf8"));
                }
        if (has(packet, "track_descriptor")) {
            const uuid = Number(packet.track_descriptor.uuid);
            assert.ok(uuid > 0 && !tracks.has(uuid));
            tracks.set(uuid, packet.track_descriptor);
            if (has(packet.track_descriptor, "parent_uuid")) assert.ok(tracks.has(Number(packet.track_descriptor.parent_uuid)));
        }
        if (!has(packet, "track_event")) continue;
        const event = packet.track_event, uuid = Number(event.track_uuid), ns = Number(packet.timestamp);
        assert.ok(tracks.has(uuid), `track ${uuid} is known`);
        assert.ok(packet.sequence_flags & 2);
        assert.ok(ns >= (last.get(uuid) ?? 0), "time does not go back on a track");
        last.set(uuid, ns);
        const stack = stacks.get(uuid) ?? stacks.set(uuid, []).get(uuid);
        const counter = has(tracks.get(uuid), "counter");
        if (event.type === 4) {
            assert.ok(counter);
            counters.push({ track: uuid, ns, value: Number(event.counter_value) });
        } else if (event.type === 1) {
            assert.ok(!counter);
            const slice = {
                track: uuid, begin: ns, depth: stack.length, parent: stack.at(-1),
                name: has(event, "name_iid") ? resolve("event_names", event.name_iid) : event.name,
                category: resolve("event_categories", event.category_iids[0]),
                args: Object.fromEntries(event.debug_annotations.map((a) => [resolve("debug_annotation_names", a.name_iid), value(a)])),
            };
            stack.push(slice);
            slices.push(slice);
        } else {
            assert.equal(event.type, 2);
            const slice = stack.pop();
            assert.ok(slice, "an end has a begin");
            slice.end = ns;
        }
    }
    for (const stack of stacks.values()) assert.equal(stack.length, 0, "every begin has an end");
    return { tracks, slices, counters };
}
