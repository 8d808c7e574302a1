import { expect, test } from 'vitest';
import { listedSlots, sortElements } from './listed-entries.ts';
import { parseListing } from './listing.ts';

const LISTING = `table inet signpost {
	comment "signpost layout 1"
	set vips4 {
		type ipv4_addr
		elements = { 192.0.2.1, 192.0.2.2,
			     192.0.2.3 }
	}

	set announcing {
		type ifname
		elements = { "eth0" }
	}

	set restricted4 {
		type ipv4_addr . inet_proto . inet_service
	}

	map service4 {
		type ipv4_addr . inet_proto . inet_service : verdict
		counter
		elements = { 192.0.2.1 . tcp . 80 counter packets 3 bytes 180 : goto client4-60-1x1-0x1-1x1,
			     192.0.2.2 . udp . 53 counter : goto random4-1x1 }
	}

	set keep-udp4 {
		type ipv4_addr . inet_service
		elements = { 192.0.2.2 . 53 }
	}

	map slot4-0 {
		type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service
		elements = { 192.0.2.1 . tcp . 80 : 10.0.0.1 . 8080,
			     192.0.2.2 . udp . 53 : 10.0.0.9 . 53 }
	}

	map slot4-2 {
		type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service
		elements = { 192.0.2.1 . tcp . 80 : 10.0.0.3 . 8080 }
	}

	set affinity4-0 {
		type ipv4_addr . ipv4_addr . inet_proto . inet_service
		size 262144
		flags dynamic,timeout
		timeout 3h
		elements = { 192.0.2.77 . 192.0.2.1 . tcp . 80 expires 59s,
			     192.0.2.78 . 192.0.2.1 . tcp . 80 expires 58s }
	}

	chain endpoint4-0 {
		dnat ip to ip daddr . meta l4proto . th dport map @slot4-0
	}

	chain nat-prerouting {
		type nat hook prerouting priority dstnat - 10; policy accept;
		ip daddr @vips4 jump dispatch4
		ip6 daddr @vips6 jump dispatch6
	}
}
`;

test('a listing is read back as what was written', () => {
  const table = parseListing(LISTING);
  expect(table.comment).toBe('signpost layout 1');
  expect(Object.fromEntries(table.objects)).toMatchObject({ vips4: 'set', service4: 'map', 'endpoint4-0': 'chain' });
  expect(Object.fromEntries(table.rules)).toEqual({ 'endpoint4-0': 1, 'nat-prerouting': 2 });
  expect(table.elements).toContainEqual({ set: 'service4', key: '192.0.2.2 . udp . 53', data: 'goto random4-1x1' });
  expect(table.elements.filter(({ set }) => set.startsWith('affinity'))).toEqual([]);
  const { vips, announcing, entries } = sortElements(table);
  expect([...vips.keys()].sort()).toEqual(['192.0.2.1', '192.0.2.2', '192.0.2.3']);
  expect(announcing).toEqual(['eth0']);
  expect(Array.from(entries, ([key, elements]) => [key, elements.length])).toEqual([
    ['192.0.2.1|TCP|80', 3],
    ['192.0.2.2|UDP|53', 3],
  ]);
  const { slots } = listedSlots(entries.get('192.0.2.1|TCP|80' as never) ?? []);
  expect(slots.map((endpoint) => endpoint?.address)).toEqual(['10.0.0.1', undefined, '10.0.0.3']);
});
