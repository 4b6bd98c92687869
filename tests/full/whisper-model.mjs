// Writes a speech model in whisper.cpp's file format with small layers and random weights, and two
// seconds of sound.
import { writeFileSync } from "node:fs";

const vocabulary = 51864, words = 50257, states = 64, heads = 2, layers = 2, audio = 1500, text = 448, mels = 80, frequencies = 201;

let seed = 1;
function random() { // in [-1, 1)
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return seed / 2 ** 31 - 1;
}

const ints = (...values) => Buffer.from(Int32Array.from(values).buffer);
const floats = (count) => Buffer.from(Float32Array.from({ length: count }, () => random() * 0.05).buffer);
const halves = (count) => Buffer.from(Uint16Array.from({ length: count }, () => 0x2000 + (Math.floor((random() + 1) * 0x4000) & 0x83ff)).buffer); // small numbers of either sign

function tensor(name, shape, half) {
    const count = shape.reduce((a, b) => a * b, 1);
    return Buffer.concat([ints(shape.length, name.length, half ? 1 : 0, ...shape), Buffer.from(name), half ? halves(count) : floats(count)]);
}
const norm = (name) => [tensor(`${name}.weight`, [states]), tensor(`${name}.bias`, [states])];
const linear = (name, from, to, bias = true) => [tensor(`${name}.weight`, [from, to], true), ...(bias ? [tensor(`${name}.bias`, [to])] : [])];
const attention = (name) => [...norm(`${name}_ln`), ...linear(`${name}.query`, states, states), ...linear(`${name}.key`, states, states, false), ...linear(`${name}.value`, states, states), ...linear(`${name}.out`, states, states)];
const block = (name, cross) => [...norm(`${name}.mlp_ln`), ...linear(`${name}.mlp.0`, states, 4 * states), ...linear(`${name}.mlp.2`, 4 * states, states), ...attention(`${name}.attn`), ...(cross ? attention(`${name}.cross_attn`) : [])];
const blocks = (name, cross) => Array.from({ length: layers }, (_, i) => block(`${name}.blocks.${i}`, cross)).flat();

export function whisperModel(path, sound) {
    const vocabularyEntries = Array.from({ length: words }, (_, i) => (i === 220 ? " " : `t${i}`)).flatMap((word) => [ints(word.length), Buffer.from(word)]);
    writeFileSync(path, Buffer.concat([
        ints(0x67676d6c, vocabulary, audio, states, heads, layers, text, states, heads, layers, mels, 1),
        ints(mels, frequencies), floats(mels * frequencies),
        ints(words), ...vocabularyEntries,
        tensor("encoder.positional_embedding", [states, audio]),
        tensor("encoder.conv1.weight", [3, mels, states], true), tensor("encoder.conv1.bias", [1, states]),
        tensor("encoder.conv2.weight", [3, states, states], true), tensor("encoder.conv2.bias", [1, states]),
        ...norm("encoder.ln_post"), ...blocks("encoder", false),
        tensor("decoder.positional_embedding", [states, text]), tensor("decoder.token_embedding.weight", [states, vocabulary], true),
        ...norm("decoder.ln"), ...blocks("decoder", true),
    ]));
    const samples = Int16Array.from({ length: 32000 }, (_, i) => 8000 * Math.sin(i * 0.05) * random()), bytes = Buffer.from(samples.buffer);
    const head = Buffer.alloc(44);
    head.write("RIFF", 0), head.writeUInt32LE(36 + bytes.length, 4), head.write("WAVEfmt ", 8), head.writeUInt32LE(16, 16), head.writeUInt16LE(1, 20), head.writeUInt16LE(1, 22);
    head.writeUInt32LE(16000, 24), head.writeUInt32LE(32000, 28), head.writeUInt16LE(2, 32), head.writeUInt16LE(16, 34), head.write("data", 36), head.writeUInt32LE(bytes.length, 40);
    writeFileSync(sound, Buffer.concat([head, bytes]));
}
