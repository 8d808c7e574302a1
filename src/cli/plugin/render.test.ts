import { expect, test } from 'vitest';
import type { z } from 'zod';
import { BGPPeerSchema } from '../../api/bgp-peer.ts';
import { type ServiceRoute, ServiceRouteSchema } from '../../api/service-route.ts';
import { type Speaker, SpeakerSchema } from '../../api/speaker.ts';
import { isBad, remedyOf } from '../conditions.ts';
import { renderRoute } from './describe.ts';
import { eventTable } from './events.ts';
import { sessionsOf, sessionTable } from './sessions.ts';
import { renderClusterStatus } from './status.ts';
import { leaderTable, vipsOf, vipTable } from './vips.ts';

const OUTPUT = { out: () => undefined, err: () => undefined, colour: false };
const SINCE = '2026-01-01T00:00:00Z';
const VIP = '203.0.113.10';

type RouteStatus = NonNullable<z.input<typeof ServiceRouteSchema>['status']>;

const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: SINCE,
});
const announced = (node: string, mode: 'L2' | 'BGP' = 'L2') => ({
  address: VIP,
  mode,
  node,
  since: SINCE,
  ...(mode === 'L2' ? { interface: 'eth0' } : { peers: ['tor1', 'tor2'] }),
});

function route(name: string, status?: RouteStatus): ServiceRoute {
  return ServiceRouteSchema.parse({
    apiVersion: 'signpost.dev/v1alpha1',
    kind: 'ServiceRoute',
    metadata: { name, namespace: 'shop' },
    spec: {
      rules: [
        {
          name: 'http',
          protocol: 'TCP',
          port: 80,
          backendRefs: [
            { name: 'web', port: 8080, weight: 9 },
            { name: 'next', namespace: 'beta', port: 8080 },
          ],
        },
      ],
    },
    status,
  });
}

const held = (...announcements: ReturnType<typeof announced>[]): RouteStatus => ({
  addresses: [{ type: 'IPAddress', value: VIP }],
  conditions: [
    condition('Programmed', 'True', 'Programmed', 'announced'),
    condition('Reachable', 'True', 'Proven', ''),
  ],
  announcements,
  summary: { addresses: VIP, ports: '80/TCP', announcedBy: 'n2', pool: 'public' },
});
const DARK: RouteStatus = {
  addresses: [{ type: 'IPAddress', value: VIP }],
  conditions: [condition('Programmed', 'False', 'NotAnnounced', 'n1: interface eth0 down')],
};

function speaker(name: string, status?: Speaker['status']): Speaker {
  return SpeakerSchema.parse({ apiVersion: 'signpost.dev/v1alpha1', kind: 'Speaker', metadata: { name }, status });
}

test('routes that share a VIP are one row, and its announcement counts once', () => {
  const vips = vipsOf([route('a', held(announced('n2'))), route('b', held(announced('n2')))]);
  expect(vipTable(vips, OUTPUT)).toMatch(/203\.0\.113\.10 +public +L2 +n2 +eth0 +shop\/a,shop\/b$/);
  expect(leaderTable(vips, OUTPUT)).toMatch(/203\.0\.113\.10 +n2 +eth0 +2026-01-01T00:00:00Z +True/);
});

test('a VIP that nobody announces says why', () => {
  const vips = vipsOf([route('a', DARK)]);
  expect(vipTable(vips, OUTPUT)).toMatch(/None +nobody +- +shop\/a/);
  expect(leaderTable(vips, OUTPUT)).toMatch(/nobody +- +- +- +n1: interface eth0 down/);
});

test('a VIP that BGP alone announces has its peers, and no leader', () => {
  const vips = vipsOf([route('a', held(announced('n1', 'BGP'), announced('n2', 'BGP')))]);
  expect(vipTable(vips, OUTPUT)).toMatch(/BGP +n1,n2 +tor1,tor2 +shop\/a/);
  expect(leaderTable(vips, OUTPUT).split('\n')).toHaveLength(1);
});

test('a route is described with its rules, its conditions and what to do about the bad ones', () => {
  const text = renderRoute(route('a', DARK), [], OUTPUT);
  expect(text).toMatch(/http +80\/TCP +web:8080 weight 9, beta\/next:8080 weight 1/);
  expect(text).toContain('Announced by nobody');
  expect(text).toMatch(/Programmed +False +NotAnnounced +2026/);
  expect(text).toContain('! Programmed: Bring up the interface');
  expect(renderRoute(route('b', held(announced('n2'))), [], OUTPUT)).not.toContain('!');
  expect(renderRoute(route('new'), [], OUTPUT)).toContain('no speaker has judged this route yet');
});

test('of many announcements the rest is counted', () => {
  const text = renderRoute(route('a', { ...held(announced('n2', 'BGP')), announcementCount: 40 }), [], OUTPUT);
  expect(text).toContain('and 39 more');
});

test('the status has every speaker, and each trouble in a line', () => {
  const speakers = [
    speaker('n1', { version: '1', summary: { ready: 'True', l2Vips: '1' }, lease: { held: true, voters: ['n1'] } }),
    speaker('n2'),
  ];
  const objects = { routes: [route('a', DARK)], pools: [], peers: [], speakers };
  const text = renderClusterStatus(objects, 'https://api', 'table', OUTPUT);
  expect(text).toContain('speakers 1 of 2 ready');
  expect(text).toMatch(/^n1 +True +1 +- +held +no/m);
  expect(text).toMatch(/^n2 +False +0/m);
  expect(text).toContain('! ServiceRoute shop/a: Programmed=False NotAnnounced: n1: interface eth0 down');
  expect(JSON.parse(renderClusterStatus(objects, '', 'json', OUTPUT))).toMatchObject({ speakers: [{}, {}] });
});

test('sessions of all nodes, and the peer that no node has one with', () => {
  const sessions = sessionsOf([
    speaker('n1', { sessions: [{ peer: 'tor1', state: 'Established', bfd: 'Up' }] }),
    speaker('n2', { sessions: [{ peer: 'tor1', state: 'Connect', lastError: 'refused' }] }),
  ]);
  const peer = BGPPeerSchema.parse({
    apiVersion: 'signpost.dev/v1alpha1',
    kind: 'BGPPeer',
    metadata: { name: 'tor2' },
    spec: { localASN: 65010, peerASN: 65000, address: '192.0.2.1' },
  });
  const text = sessionTable(sessions, [peer], OUTPUT);
  expect(text).toMatch(/^n1 +tor1 +Established +- +Up/m);
  expect(text).toMatch(/^n2 +tor1 +Connect +- +- +refused/m);
  expect(text).toMatch(/^<none> +tor2 .*no node has a session with it/m);
});

test('an Event names its object, of a namespace or of none', () => {
  const event = { eventTime: SINCE, type: 'Normal', reason: 'Programmed', note: 'n', reportingInstance: 'n1' };
  const regarding = { kind: 'AddressPool', name: 'public' };
  expect(eventTable([{ ...event, regarding }], OUTPUT)).toMatch(/Programmed +AddressPool public +n1 +n/);
  const inNamespace = { ...event, regarding: { kind: 'ServiceRoute', namespace: 'shop', name: 'a' } };
  expect(eventTable([inNamespace], OUTPUT)).toContain('ServiceRoute shop/a');
});

test('a promise is bad when False, a trouble when True, and what is Unknown is neither', () => {
  const c = (type: string, status: 'True' | 'False' | 'Unknown', reason = '') => ({
    type,
    status,
    reason,
    message: '',
  });
  expect([c('Programmed', 'False'), c('Unfenced', 'True'), c('OfLater', 'True')].map(isBad)).toEqual([
    true,
    true,
    true,
  ]);
  expect([c('Programmed', 'True'), c('Unfenced', 'False'), c('Reachable', 'Unknown')].some(isBad)).toBe(false);
  expect(remedyOf(c('Unfenced', 'True', 'NoMajority'))).toContain('Bring back the other speakers');
  expect(remedyOf(c('OfLater', 'True', 'Whatever'))).toBeUndefined();
});
