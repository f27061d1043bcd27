import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

import type { Trace, TraceSlice } from './trace.ts';

/** Field numbers of Perfetto's trace_packet.proto, track_descriptor.proto, track_event.proto and debug_annotation.proto. */
const TRACE = { packet: 1 } as const;
const PACKET = { timestamp: 8, sequence: 10, event: 11, flags: 13, descriptor: 60 } as const;
const DESCRIPTOR = { uuid: 1, name: 2, process: 3, parent: 5, ordering: 11, rank: 12 } as const;
const PROCESS = { pid: 1, name: 6 } as const;
const EVENT = { annotation: 4, type: 9, track: 11, category: 22, name: 23 } as const;
const ANNOTATION = { double: 5, text: 6, name: 10, integer: 4 } as const;
const [SLICE_BEGIN, SLICE_END] = [1, 2];
const ORDER_BY_RANK = 3;
const STATE_CLEARED = 1;
const SEQUENCE = 1;

const CHUNK_PACKETS = 1000;

/** Perfetto protobuf: packets of track descriptors and slices, times in nanoseconds. */
export function* perfettoTrace({ groups }: Trace): Generator<Uint8Array> {
  let writer = new BinaryWriter();
  let packets = 0;
  let uuid = 0;
  const packet = (write: (into: BinaryWriter) => void): void => {
    writer.tag(TRACE.packet, WireType.LengthDelimited).fork();
    writer.tag(PACKET.sequence, WireType.Varint).uint32(SEQUENCE);
    if (packets === 0) writer.tag(PACKET.flags, WireType.Varint).uint32(STATE_CLEARED);
    write(writer);
    writer.join();
    packets += 1;
  };
  for (const [groupPlace, group] of groups.entries()) {
    uuid += 1;
    const process = { uuid, pid: groupPlace + 1, name: group.name };
    packet((into) => writeProcess(into, process));
    for (const [rank, track] of group.tracks.entries()) {
      uuid += 1;
      const own = { uuid, parent: process.uuid, name: track.name, rank };
      packet((into) => writeTrack(into, own));
      for (const slice of track.slices()) {
        packet((into) => writeBegin(into, own.uuid, slice));
        packet((into) => writeEnd(into, own.uuid, slice));
        if (packets % CHUNK_PACKETS < 2) {
          yield writer.finish();
          writer = new BinaryWriter();
        }
      }
    }
  }
  yield writer.finish();
}

function writeProcess(
  into: BinaryWriter,
  { name, pid, uuid }: { readonly uuid: number; readonly pid: number; readonly name: string },
): void {
  into.tag(PACKET.descriptor, WireType.LengthDelimited).fork();
  into.tag(DESCRIPTOR.uuid, WireType.Varint).uint64(uuid);
  into.tag(DESCRIPTOR.process, WireType.LengthDelimited).fork();
  into.tag(PROCESS.pid, WireType.Varint).int32(pid);
  text(into, PROCESS.name, name).join();
  into.tag(DESCRIPTOR.ordering, WireType.Varint).int32(ORDER_BY_RANK).join();
}

interface OwnTrack {
  readonly uuid: number;
  readonly parent: number;
  readonly name: string;
  readonly rank: number;
}

function writeTrack(into: BinaryWriter, { name, parent, rank, uuid }: OwnTrack): void {
  into.tag(PACKET.descriptor, WireType.LengthDelimited).fork();
  into.tag(DESCRIPTOR.uuid, WireType.Varint).uint64(uuid);
  text(into, DESCRIPTOR.name, name);
  into.tag(DESCRIPTOR.parent, WireType.Varint).uint64(parent);
  into.tag(DESCRIPTOR.rank, WireType.Varint).int32(rank).join();
}

function writeBegin(into: BinaryWriter, track: number, slice: TraceSlice): void {
  into.tag(PACKET.timestamp, WireType.Varint).uint64(nanoseconds(slice.startMs));
  into.tag(PACKET.event, WireType.LengthDelimited).fork();
  into.tag(EVENT.type, WireType.Varint).int32(SLICE_BEGIN);
  into.tag(EVENT.track, WireType.Varint).uint64(track);
  text(into, EVENT.category, 'trtexec');
  text(into, EVENT.name, slice.name);
  for (const [name, fact] of Object.entries(slice.facts)) {
    into.tag(EVENT.annotation, WireType.LengthDelimited).fork();
    text(into, ANNOTATION.name, name);
    if (typeof fact === 'string') text(into, ANNOTATION.text, fact);
    else if (Number.isInteger(fact)) into.tag(ANNOTATION.integer, WireType.Varint).int64(fact);
    else into.tag(ANNOTATION.double, WireType.Bit64).double(fact);
    into.join();
  }
  into.join();
}

function writeEnd(into: BinaryWriter, track: number, { endMs, startMs }: TraceSlice): void {
  const end = Math.max(nanoseconds(endMs), nanoseconds(startMs));
  into.tag(PACKET.timestamp, WireType.Varint).uint64(end);
  into.tag(PACKET.event, WireType.LengthDelimited).fork();
  into.tag(EVENT.type, WireType.Varint).int32(SLICE_END);
  into.tag(EVENT.track, WireType.Varint).uint64(track).join();
}

function text(into: BinaryWriter, field: number, value: string): BinaryWriter {
  return into.tag(field, WireType.LengthDelimited).string(value.toWellFormed());
}

function nanoseconds(ms: number): number {
  return Math.max(0, Math.round(ms * 1e6));
}
