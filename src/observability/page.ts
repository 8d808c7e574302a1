import type { StatusDocument } from './status-document.ts';

/** The status page: the same as `signpost status`, for a browser. */
export function statusPage(status: StatusDocument): string {
  const routes = status.routes.map((route) => {
    const programmed = route.conditions.find(({ type }) => type === 'Programmed');
    const cells = [`${route.namespace}/${route.name}`, route.addresses.join(', '), route.ports.join(', ')];
    return [
      ...cells,
      route.backends.join(', '),
      route.announcedBy.join(', '),
      `${programmed?.status ?? ''} ${programmed?.message ?? ''}`,
    ];
  });
  const vips = status.vips.map((vip) => [
    vip.vip,
    vip.mode,
    vip.holder ?? (vip.peers === undefined ? 'nobody' : `to ${vip.peers.join(', ')}`),
    vip.interface ?? '',
    vip.since ?? '',
    vip.why,
  ]);
  const troubles = [...status.source.problems, ...status.conditions.map(({ type, message }) => `${type}: ${message}`)];
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="refresh" content="5">
<title>signpost ${escapeHtml(status.node)}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid #ddd; vertical-align: top; }
</style>
<h1>${escapeHtml(status.node)}</h1>
<p>signpost ${escapeHtml(status.version)}, ${escapeHtml(status.source.kind)} ${escapeHtml(status.source.detail)}, ${status.source.synced ? 'synced' : 'reading'}</p>
${table(['Route', 'Address', 'Ports', 'Backends', 'Announced by', 'Programmed'], routes)}
${table(['VIP', 'Mode', 'Leader', 'Interface', 'Since', 'Why'], vips)}
${troubles.length === 0 ? '' : `<h2>Troubles</h2><ul>${troubles.map((text) => `<li>${escapeHtml(text)}`).join('')}</ul>`}
</html>
`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (tag: 'th' | 'td', row: readonly string[]) =>
    `<tr>${row.map((cell) => `<${tag}>${escapeHtml(cell)}`).join('')}`;
  return `<table>${cells('th', head)}${rows.map((row) => cells('td', row)).join('')}</table>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
