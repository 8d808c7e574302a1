import type { Result } from '../../net/result.ts';
import { RouteSocket } from '../../sys/route-socket.ts';
import { type Links, NO_LINKS, reduceLinks } from '../world/links.ts';
import type { Neighbours } from './neighbours.ts';

/** Follows the interfaces of this node; after lost events the whole is read anew and told at once. */
export function watchLinks(onLinks: (links: Links) => void, neighbours?: Neighbours): Result<Disposable> {
  let links: Links = NO_LINKS;
  let dumping = false;
  const tell = (next: Links) => {
    if (next === links) return;
    links = next;
    if (!dumping) onLinks(links);
  };
  return RouteSocket.open({
    onResync() {
      dumping = true;
      links = NO_LINKS;
    },
    onMessages(messages) {
      tell(reduceLinks(links, messages));
      neighbours?.fold(messages);
    },
    onSynced() {
      dumping = false;
      onLinks(links);
    },
  });
}
