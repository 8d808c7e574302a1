import { Writer } from '../../net/cursor.ts';
import type {
  Ballot,
  Claim,
  Grant,
  Holder,
  Life,
  Message,
  Seat,
  StatusException,
  Voter,
  VoterList,
} from './messages.ts';
import {
  branded,
  flag,
  list,
  nodeName,
  optional,
  type Part,
  Reader,
  struct,
  text,
  u16,
  u32,
  u53,
  vip,
  word,
} from './parts.ts';
import type { Incarnation, SessionId } from './types.ts';

const session = branded<SessionId>(u32);
const incarnation = branded<Incarnation>(u53);
const voter = struct<Voter>({ node: nodeName, session });
const voterList = struct<VoterList>({ version: u32, voters: list(voter) });
const life = struct<Life>({ node: nodeName, incarnation });
const holder = struct<Holder>({ node: nodeName, incarnation, list: voterList, released: flag });
const seat = struct<Seat>({ vip, epoch: u32, life, open: flag });
const ballot = struct<Ballot>({ round: u32, life });
const grant = struct<Grant>({ ballot, holder, epoch: u32 });
const nodes = list(nodeName);
const claim = struct<Claim>({ vip, epoch: u32, holder, routeKey: text, moves: list(u32), formerHolders: nodes });

/** Claims of one holder follow each other, and name it once; as they do those that had it before. */
const claims: Part<readonly Claim[]> = {
  write(writer, value) {
    writer.u16(value.length);
    let last: Holder | undefined;
    let formerHolders: Claim['formerHolders'] = [];
    for (const one of value) {
      const same = last !== undefined && sameHolder(last, one.holder);
      flag.write(writer, same);
      if (!same) holder.write(writer, one.holder);
      vip.write(writer, one.vip);
      writer.u32(one.epoch);
      text.write(writer, one.routeKey);
      list(u32).write(writer, one.moves);
      const sameFormer = sameNodes(formerHolders, one.formerHolders);
      flag.write(writer, sameFormer);
      if (!sameFormer) nodes.write(writer, one.formerHolders);
      last = one.holder;
      formerHolders = one.formerHolders;
    }
  },
  read(reader) {
    const count = reader.number(16);
    const value: Claim[] = [];
    let last: Holder | undefined;
    let formerHolders: Claim['formerHolders'] = [];
    for (let i = 0; i < count && !reader.failed; i++) {
      const same = flag.read(reader);
      if (same && last === undefined) return reader.fail([]);
      last = same && last !== undefined ? last : holder.read(reader);
      const own = {
        holder: last,
        vip: vip.read(reader),
        epoch: reader.number(32),
        routeKey: text.read(reader),
        moves: list(u32).read(reader),
      };
      formerHolders = flag.read(reader) ? formerHolders : nodes.read(reader);
      value.push({ ...own, formerHolders });
    }
    return value;
  },
};

function sameNodes(a: Claim['formerHolders'], b: Claim['formerHolders']): boolean {
  return a.length === b.length && a.every((node, i) => node === b[i]);
}

function sameHolder(a: Holder, b: Holder): boolean {
  return (
    a.incarnation === b.incarnation &&
    a.node === b.node &&
    a.released === b.released &&
    a.list.version === b.list.version
  );
}

type Group = Pick<StatusException, 'kind' | 'reason'> & { readonly vips: readonly StatusException['vip'][] };
const group = struct<Group>({ kind: word('ineligible', 'lastResort', 'notReady'), reason: text, vips: list(vip) });

/** VIPs of one reason are written together. */
const exceptions: Part<readonly StatusException[]> = {
  write(writer, value) {
    const groups: (Group & { vips: StatusException['vip'][] })[] = [];
    for (const one of value) {
      const last = groups.at(-1);
      if (last?.kind === one.kind && last.reason === one.reason) last.vips.push(one.vip);
      else groups.push({ kind: one.kind, reason: one.reason, vips: [one.vip] });
    }
    list(group).write(writer, groups);
  },
  read: (reader) =>
    list(group)
      .read(reader)
      .flatMap(({ kind, reason, vips }) => vips.map((one) => ({ vip: one, kind, reason }))),
};

const nothing: Part<object> = struct({});

type Body<T extends Message['type']> = Omit<Extract<Message, { type: T }>, 'type'>;

/** By type; the index in `TYPES` is the number on the wire. */
const BODIES: { readonly [T in Message['type']]: Part<Body<T>> } = {
  heartbeat: struct<Body<'heartbeat'>>({
    incarnation,
    number: u32,
    version: u32,
    list: optional(voterList),
    digest: u32,
  }),
  acknowledge: struct<Body<'acknowledge'>>({ incarnation, number: u32, version: u32, digest: u32 }),
  suspicion: struct<Body<'suspicion'>>({ life, version: u32, verdict: word('suspected', 'void') }),
  certificate: struct<Body<'certificate'>>({ life, list: voterList, proven: flag }),
  voters: struct<Body<'voters'>>({ life, list: voterList }),
  claims: struct<Body<'claims'>>({ claims, holdings: optional(incarnation) }),
  holdingsKnown: struct<Body<'holdingsKnown'>>({ incarnation, vips: list(vip) }),
  unfenced: struct<Body<'unfenced'>>({
    claims: list(struct<Body<'unfenced'>['claims'][number]>({ vip, epoch: u32, intended: flag })),
    hears: flag,
  }),
  status: struct<Body<'status'>>({
    subject: nodeName,
    session,
    version: u32,
    page: u16,
    pages: u16,
    draining: flag,
    witness: flag,
    exceptions,
  }),
  digest: struct<Body<'digest'>>({ sums: list(u32), reply: flag }),
  prepare: struct<Body<'prepare'>>({ seat, list: voterList, ballot, claimant: life, reform: flag }),
  promise: struct<Body<'promise'>>({ seat, ballot, remembers: flag, grant: optional(grant) }),
  accept: struct<Body<'accept'>>({ seat, list: voterList, ballot, holder, epoch: u32, reform: flag }),
  accepted: struct<Body<'accepted'>>({ seat, ballot }),
  refused: struct<Body<'refused'>>({
    seat,
    ballot,
    promised: optional(ballot),
    list: optional(voterList),
    claim: optional(claim),
  }),
  offer: struct<Body<'offer'>>({ vip, epoch: u32 }),
  offerReply: struct<Body<'offerReply'>>({ vip, epoch: u32, ready: flag, holder: optional(holder) }),
  decided: struct<Body<'decided'>>({ claim }),
  leaving: nothing,
  ask: struct<Body<'ask'>>({ vip }),
  rebalance: nothing,
};

const TYPES = Object.keys(BODIES) as Message['type'][];

export function encodeBody(message: Message): { readonly kind: number; readonly bytes: Uint8Array } {
  const writer = new Writer(128);
  (BODIES[message.type] as Part<Message>).write(writer, message);
  return { kind: TYPES.indexOf(message.type), bytes: writer.finish() };
}

/** Undefined if it is no whole message of a known kind and nothing else. */
export function decodeBody(kind: number, bytes: Uint8Array): Message | undefined {
  const type = TYPES[kind];
  if (type === undefined) return undefined;
  const reader = new Reader(bytes);
  const body = (BODIES[type] as Part<object>).read(reader);
  if (reader.failed || reader.remaining > 0) return undefined;
  return { type, ...body } as Message;
}
