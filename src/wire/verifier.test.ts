import { expect, test } from 'vitest';
import { probeFrame } from '../../arp/index.ts';
import { type MonotonicNs, ms } from '../../net/clock.ts';
import type { Mac } from '../../net/mac.ts';
import type { NodeName, Vip } from '../../net/names.ts';
import { type Verdict, Verifier } from './verifier.ts';

const OWN = '02:00:00:00:00:01' as Mac;
const LEADER = '02:00:00:00:00:02' as Mac;
const N2 = 'n2' as NodeName;
const N3 = 'n3' as NodeName;
const VIP = '203.0.113.10' as Vip;

class Rig {
  now = 0;
  frames = 0;
  readonly verdicts: Verdict[] = [];
  turn = true;
  readonly verifier = new Verifier(
    OWN,
    () => this.turn,
    (ip) => probeFrame(OWN, ip),
  );

  at(milliseconds: number): MonotonicNs {
    return ms(milliseconds) as MonotonicNs;
  }

  hold(vip: Vip, holder: NodeName | undefined): void {
    this.verifier.setHolder(vip, holder, this.at(this.now));
  }

  /** Does what is due for so long; `answer` hears each frame that is sent. */
  run(milliseconds: number, answer?: () => void): void {
    const end = this.now + milliseconds;
    for (;;) {
      const { frames, verdicts } = this.verifier.tick(this.at(this.now));
      this.frames += frames.length;
      if (frames.length > 0) answer?.();
      this.verdicts.push(...verdicts);
      const next = this.verifier.nextAt();
      if (next === undefined || next > ms(end)) break;
      this.now = Math.max(this.now, next / ms(1));
    }
    this.now = end;
  }
}

test('asks after a move and tells who answered, then regularly', () => {
  const rig = new Rig();
  rig.hold(VIP, N2);
  rig.run(250);
  expect(rig.frames).toBe(0);
  rig.run(1_000, () => rig.verifier.heard(VIP, LEADER));
  expect(rig.verdicts).toEqual([{ vip: VIP, holder: N2, answeredBy: LEADER }]);
  rig.run(31_000, () => rig.verifier.heard(VIP, LEADER));
  expect(rig.verdicts).toHaveLength(2);
});

test('tells that nobody answered, and asks again when told to', () => {
  const rig = new Rig();
  rig.hold(VIP, N2);
  rig.run(2_000);
  expect(rig.verdicts).toEqual([{ vip: VIP, holder: N2, answeredBy: undefined }]);
  rig.verifier.askAgain(rig.verdicts[0] as Verdict, rig.at(rig.now));
  rig.run(2_000);
  expect(rig.verdicts).toHaveLength(2);
});

test('a verdict on a holder that has changed meanwhile is none', () => {
  const rig = new Rig();
  rig.hold(VIP, N2);
  rig.run(400);
  rig.hold(VIP, N3);
  rig.run(2_000, () => rig.verifier.heard(VIP, LEADER));
  expect(rig.verdicts.map(({ holder }) => holder)).toEqual([N3]);
});

test('only the member whose turn it is asks, and it takes over within a period', () => {
  const rig = new Rig();
  rig.turn = false;
  rig.hold(VIP, N2);
  rig.run(29_000);
  expect(rig.frames).toBe(0);
  rig.turn = true;
  rig.run(3_000);
  expect(rig.verdicts).toHaveLength(1);
});

test('nothing is asked of VIPs that nobody or this node holds', () => {
  const rig = new Rig();
  rig.hold(VIP, N2);
  rig.hold(VIP, undefined);
  rig.run(60_000);
  expect(rig.frames).toBe(0);
});

test('a thousand VIPs are asked below 200 broadcasts a second', () => {
  const rig = new Rig();
  for (let i = 0; i < 1000; i++) rig.hold(`10.0.${i >> 8}.${i & 255}` as Vip, N2);
  rig.run(1_300);
  expect(rig.frames).toBeLessThanOrEqual(2 * 8 * 21);
  rig.run(10_000);
  expect(rig.verdicts).toHaveLength(1000);
});
