/** A reader of protobuf of its own, with the field numbers of Perfetto's .proto files: it shares nothing with the writer. */
type Fields = Map<number, (bigint | Buffer)[]>;

function readFields(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(varint());
    const wire = tag & 7;
    let value: bigint | Buffer;
    if (wire === 0) value = varint();
    else {
      const length = wire === 2 ? Number(varint()) : wire === 1 ? 8 : 4;
      if (at + length > bytes.length) throw new Error('a field goes beyond its message');
      value = bytes.subarray(at, at + length);
      at += length;
    }
    fields.set(tag >> 3, [...(fields.get(tag >> 3) ?? []), value]);
  }
  return fields;
}

function message(fields: Fields, number: number): Fields | null {
  const [value] = fields.get(number) ?? [];
  return Buffer.isBuffer(value) ? readFields(value) : null;
}

function integer(fields: Fields, number: number): number | null {
  const [value] = fields.get(number) ?? [];
  return typeof value === 'bigint' ? Number(value) : null;
}

function text(fields: Fields, number: number): string | null {
  const [value] = fields.get(number) ?? [];
  return Buffer.isBuffer(value) ? value.toString('utf8') : null;
}

export interface PerfettoSlice {
  readonly track: string;
  readonly process: string;
  readonly name: string;
  readonly startNs: number;
  readonly endNs: number;
  readonly facts: Readonly<Record<string, string | number>>;
}

/** Every slice of a trace; throws where a slice does not end, or ends on a track that has none open. */
export function readPerfetto(bytes: Buffer): PerfettoSlice[] {
  const tracks = new Map<number, { name: string; parent: number | null }>();
  const open = new Map<number, Omit<PerfettoSlice, 'endNs'>>();
  const slices: PerfettoSlice[] = [];
  const names = (uuid: number): [string, string] => {
    const track = tracks.get(uuid);
    return [track?.name ?? '', tracks.get(track?.parent ?? 0)?.name ?? ''];
  };
  for (const packet of readFields(bytes).get(1) ?? []) {
    if (!Buffer.isBuffer(packet)) throw new Error('a packet is a message');
    const fields = readFields(packet);
    if (integer(fields, 10) !== 1) throw new Error('no trusted_packet_sequence_id');
    const descriptor = message(fields, 60);
    if (descriptor !== null) {
      const process = message(descriptor, 3);
      const name = process === null ? text(descriptor, 2) : text(process, 6);
      tracks.set(integer(descriptor, 1) ?? 0, { name: name ?? '', parent: integer(descriptor, 5) });
    }
    const event = message(fields, 11);
    if (event === null) continue;
    const [uuid, at] = [integer(event, 11) ?? 0, integer(fields, 8) ?? -1];
    const [track, process] = names(uuid);
    if (integer(event, 9) === 1) {
      if (open.has(uuid)) throw new Error(`${track}: a slice inside a slice`);
      const facts = factsOf(event);
      open.set(uuid, { track, process, name: text(event, 23) ?? '', startNs: at, facts });
    } else {
      const slice = open.get(uuid);
      if (slice === undefined) throw new Error(`${track}: an end without a beginning`);
      open.delete(uuid);
      slices.push({ ...slice, endNs: at });
    }
  }
  if (open.size > 0) throw new Error('a slice without an end');
  return slices;
}

function factsOf(event: Fields): Record<string, string | number> {
  const entries = (event.get(4) ?? []).map((annotation): [string, string | number] => {
    const fields = readFields(Buffer.isBuffer(annotation) ? annotation : Buffer.alloc(0));
    const [double] = fields.get(5) ?? [];
    const number = Buffer.isBuffer(double) ? double.readDoubleLE() : integer(fields, 4);
    return [text(fields, 10) ?? '', text(fields, 6) ?? number ?? ''];
  });
  return Object.fromEntries(entries);
}
