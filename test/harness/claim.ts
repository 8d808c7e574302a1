import { createServer } from 'node:net';

export interface Claim {
  readonly name: string;
  release(): void;
}

/**
 * The first of `names` that no live process on this host holds. An abstract unix socket is the lock:
 * the kernel makes it exclusive and frees it when its process dies, however it dies.
 */
export async function claimFirst(names: Iterable<string>): Promise<Claim> {
  for (const name of names) {
    const claim = await tryClaim(name);
    if (claim) return claim;
  }
  throw new Error('every name is taken');
}

function tryClaim(name: string): Promise<Claim | undefined> {
  return new Promise((resolve, reject) => {
    const lock = createServer((stranger) => stranger.destroy());
    lock.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    lock.listen(`\0signpost-test/${name}`, () => {
      lock.unref();
      resolve({ name, release: () => lock.close() });
    });
  });
}

/** The first of ten ports (of every address of this host) that no other test has; below the kernel's own choice. */
export async function claimPorts(): Promise<Claim & { readonly first: number }> {
  const blocks = Array.from({ length: 1_000 }, (_, i) => `ports/${21_000 + 10 * i}`);
  const claim = await claimFirst(blocks);
  return { ...claim, first: Number(claim.name.slice('ports/'.length)) };
}
