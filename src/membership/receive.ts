import type { NodeName } from '../../net/names.ts';
import { onClaims, onHoldingsKnown } from './claims.ts';
import { noticeDigest, onDigest } from './digest.ts';
import { onAccept, onPrepare } from './grants.ts';
import { onOffer, onOfferReply, rebalance } from './hand-over.ts';
import { onAcknowledge } from './lease.ts';
import { hearLife, onLeaving, onStatus } from './members.ts';
import type { Message } from './messages.ts';
import { onAsk } from './orphans.ts';
import type { Turn } from './state.ts';
import { onAccepted, onDecided, onPromise, onRefused } from './succession.ts';
import { onCertificate, onHeartbeat, onSuspicion, onVoters } from './suspicion.ts';
import type { MembershipEvent, SessionId } from './types.ts';
import { onFencedClaim, onUnfenced } from './unfenced.ts';

/** Hands a member's message, or one of our own to ourselves, to the part of the protocol that it belongs to. */
export function receive(turn: Turn, from: NodeName, session: SessionId, message: Message): void {
  switch (message.type) {
    case 'heartbeat':
      hearLife(turn, from, message.incarnation);
      noticeDigest(turn, from, message.digest);
      {
        onHeartbeat(turn, from, session, message);
        return;
      }
    case 'acknowledge':
      noticeDigest(turn, from, message.digest);
      {
        onAcknowledge(turn, from, session, message);
        return;
      }
    case 'suspicion': {
      onSuspicion(turn, from, message);
      return;
    }
    case 'certificate': {
      onCertificate(turn, message);
      return;
    }
    case 'claims':
      onClaims(turn, from, message);
      for (const claim of message.claims) if (claim.holder.node === from) onFencedClaim(turn, claim);
      return;
    case 'holdingsKnown': {
      onHoldingsKnown(turn, from, message);
      return;
    }
    case 'unfenced': {
      onUnfenced(turn, from, message);
      return;
    }
    case 'status': {
      onStatus(turn, from, message);
      return;
    }
    case 'digest': {
      onDigest(turn, from, message);
      return;
    }
    case 'prepare': {
      onPrepare(turn, from, message);
      return;
    }
    case 'promise': {
      onPromise(turn, from, message);
      return;
    }
    case 'accept': {
      onAccept(turn, from, message);
      return;
    }
    case 'accepted': {
      onAccepted(turn, from, message);
      return;
    }
    case 'refused': {
      onRefused(turn, from, message);
      return;
    }
    case 'offer': {
      onOffer(turn, from, message);
      return;
    }
    case 'offerReply': {
      onOfferReply(turn, from, message);
      return;
    }
    case 'decided': {
      onDecided(turn, from, message.claim);
      return;
    }
    case 'leaving': {
      onLeaving(turn, from);
      return;
    }
    case 'voters': {
      onVoters(turn, message);
      return;
    }
    case 'ask': {
      onAsk(turn, from, message.vip);
      return;
    }
    case 'rebalance': {
      rebalance(turn);
      return;
    }
    default:
      message satisfies never;
  }
}

/** A removed member votes until the list without it is acknowledged. */
export function receiveFormer(turn: Turn, event: Extract<MembershipEvent, { type: 'message' }>): void {
  const { from, session, message } = event;
  if (message.type === 'acknowledge') onAcknowledge(turn, from, session, message);
  else if (message.type === 'accepted') onAccepted(turn, from, message);
}
