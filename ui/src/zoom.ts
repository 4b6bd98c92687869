// The stretch of time that pictures over time show, in the address; null: all tokens. The timeline and the order of accesses share it.
import { asRange, kept } from "./state";

export const zoom = kept<[number, number] | null>("zoom", null, asRange, { isZoom: true });
