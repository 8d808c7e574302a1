/**
 * The rules of the protocol that can be taken out one at a time: for simulations, which show for each the schedule
 * that breaks without it. Production has all of them.
 */
export interface Rules {
  /** A lease counts from the sending of the heartbeat that was acknowledged, not from the acknowledgement's arrival. */
  readonly leaseFromSending: boolean;
  /** A voter votes later than a lease can last, also with clocks that drift. */
  readonly voteAfterLease: boolean;
  /** A node without a lease says so, and its voters vote it void at once. */
  readonly yieldWithoutLease: boolean;
  /** Voters repeat suspicions and votes until the certificate is known. */
  readonly repeatVotes: boolean;
  /** Only a node with a lease of its own claims. */
  readonly claimWithLease: boolean;
  /** A later ballot adopts a grant that was already accepted. */
  readonly adoptGrants: boolean;
  /** A ballot names the incarnation of its proposer. */
  readonly ballotNamesIncarnation: boolean;
  /** A holder answers only once a majority of its own voters lists the VIP. */
  readonly answerInForce: boolean;
  /** The holder of the first epoch is the one written, or granted by a majority, never computed. */
  readonly firstClaimGranted: boolean;
  /** A speaker that just started listens before it claims. */
  readonly listenFirst: boolean;
  /** Voter lists name sessions: a restarted voter has no vote in lists that named the session before. */
  readonly votersBySession: boolean;
  /** Where too few voters remember, a majority of the members re-forms the chain. */
  readonly reform: boolean;
  /** Voters change one at a time, under both majorities. */
  readonly jointMajorities: boolean;
  /** A release is recorded at a majority of the voters before the successor answers. */
  readonly releaseRecorded: boolean;
  /** A release to nobody opens the next epoch to all candidates. */
  readonly openRelease: boolean;
  /** A voter that stood still reads its sockets before it judges silence. */
  readonly drainBeforeJudging: boolean;
  /** A holder among two members goes on unfenced without a gap. */
  readonly holderGoesOn: boolean;
  /** An unfenced claim needs carrier, a neighbour that answers, and silence on the VIP. */
  readonly unfencedNeedsEvidence: boolean;
  /** Digests repair claims that were lost. */
  readonly digests: boolean;
}

export const ALL_RULES: Rules = {
  leaseFromSending: true,
  voteAfterLease: true,
  yieldWithoutLease: true,
  repeatVotes: true,
  claimWithLease: true,
  adoptGrants: true,
  ballotNamesIncarnation: true,
  answerInForce: true,
  firstClaimGranted: true,
  listenFirst: true,
  votersBySession: true,
  reform: true,
  jointMajorities: true,
  releaseRecorded: true,
  openRelease: true,
  drainBeforeJudging: true,
  holderGoesOn: true,
  unfencedNeedsEvidence: true,
  digests: true,
};
