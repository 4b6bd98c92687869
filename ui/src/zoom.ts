// The visible time range of pictures over time, in the address; null: all tokens. The timeline and
// the access order share it.
import { asRange, kept } from "./state";

export const zoom = kept<[number, number] | null>("zoom", null, asRange, { isZoom: true });
