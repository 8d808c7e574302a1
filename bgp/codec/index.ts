/** BGP-4 messages as bytes: pure, no I/O, no state but the reader's buffer. */
export { type Community, formatCommunity, parseCommunity, WELL_KNOWN_COMMUNITIES } from './communities.ts';
export * from './constants.ts';
export {
  type Decoded,
  type DecodeError,
  describeError,
  type Reaction,
  reactionTo,
  strongestReaction,
} from './errors.ts';
export { type Assumptions, type ExplainedField, type ExplainedMessage, explain } from './explain.ts';
export { afiSafiOf, familyOfAfiSafi } from './families.ts';
export { maxMessageLength } from './header.ts';
export {
  ceaseWithCommunication,
  hardReset,
  hardResetReason,
  shutdownCommunication,
} from './messages/notification.ts';
export { decodeMessage, encodeMessage } from './messages/table.ts';
export { endOfRib, endOfRibUpdate } from './messages/update.ts';
export { capability, checkOpen, negotiate, type OpenExpectation, UNNEGOTIATED } from './negotiate.ts';
export { nlriOf, prefixesOf } from './nlri.ts';
export { encodeUpdates, encodeWithdrawals, type PackedUpdate, type RouteGroup } from './pack.ts';
export { MessageReader } from './reader.ts';
export type * from './types.ts';
export {
  describeCapability,
  describeFamily,
  describeNotification,
  describeReaction,
  formatAsPath,
  hex,
} from './words.ts';
