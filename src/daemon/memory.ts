import { loadMemory, MemoryWriter } from '../act/memory.ts';
import type { Logger } from '../observability/log.ts';
import type { World } from '../world/types.ts';

export interface Memory {
  readonly remembered: World['memory'];
  readonly writer: MemoryWriter;
}

/** With manifests alone: the API server remembers better. */
export async function openMemory(folder: string, log: Logger): Promise<Memory> {
  const { memory, problem } = await loadMemory(folder);
  if (problem !== undefined) log.warn({}, problem);
  return { remembered: memory, writer: new MemoryWriter(folder, (trouble) => log.warn({}, trouble)) };
}
