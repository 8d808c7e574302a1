import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { httpBackend, tcpBackend, udpBackend } from '../harness/backends.ts';
import { askHttp, askUdp, EchoConnection } from '../harness/clients.ts';
import { eventually } from '../harness/eventually.ts';
import { Lab } from '../harness/lab.ts';
import { nodeLan } from '../harness/nodes.ts';

test('nodes, pods and clients reach each other in both families, and nothing is left behind', async () => {
  let path: string;
  {
    await using lab = await Lab.open();
    const { lan, client, nodes } = await nodeLan(lab, { nodes: 2, podsPerNode: 1 });
    const [n1, n2] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
    path = `/run/netns/${n1.namespace.path}`;
    expect(existsSync(path)).toBe(true);

    const [p11, p21] = [n1.pods[0], n2.pods[0]] as [(typeof n1.pods)[0], (typeof n1.pods)[0]];
    await httpBackend(lab, p21.namespace, 8080);
    await udpBackend(lab, p21.namespace, 53);
    await tcpBackend(lab, p21.namespace, 7);
    await client.namespace.ip(`route add 10.244.2.0/24 via ${n2.v4}`);

    for (const family of ['v4', 'v6'] as const) {
      await using capture = await p21.namespace.capture('port 8080');
      expect(await askHttp(p11.namespace, p21[family], 8080)).toMatchObject({ backend: 'p21', client: p11[family] });
      expect(await askUdp(p11.namespace, p21[family], 53)).toMatchObject({
        backend: 'p21',
        client: p11[family],
        bytes: 5,
      });
      const echo = await EchoConnection.open(p11.namespace, p21[family], 7);
      expect([echo.backend, await echo.exchange('hello')]).toEqual(['p21', 'hello']);
      echo.close();
      expect((await capture.stop()).map((packet) => packet.text).join()).toContain('[S]');
    }
    expect(await askHttp(client.namespace, p21.v4, 8080)).toMatchObject({ client: client.v4 });

    await lan.block(n2.namespace);
    expect(await client.namespace.pings(n2.v4, { timeout: 0.2 })).toBe(false);
    await lan.unblock(n2.namespace);
    await eventually('the port forwards again', () => client.namespace.pings(n2.v4));
    await expect(askHttp(client.namespace, n2.v4, 8080)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  }
  expect(existsSync(path)).toBe(false);
});
