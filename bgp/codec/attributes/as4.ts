import { AS_TRANS } from '../constants.ts';
import type { AsPathSegment, PathAttributes, SessionParameters } from '../types.ts';
import { asPathLength, joinSequences } from './as-path.ts';
import type { AttributeValues } from './table.ts';

/** To a speaker of two-octet AS numbers: what AS_TRANS hides goes beside it (RFC 6793 section 4.2.2). */
export function addAs4(attributes: PathAttributes, { fourOctetAs }: SessionParameters): AttributeValues {
  const { asPath, aggregator } = attributes;
  const hidesPath = asPath?.some(({ asns }) => asns.some((asn) => asn > 0xffff)) === true;
  const hidesAggregator = aggregator !== undefined && aggregator.asn > 0xffff;
  if (fourOctetAs || (!hidesPath && !hidesAggregator)) return attributes;
  return {
    ...attributes,
    ...(hidesPath ? { as4Path: asPath } : {}),
    ...(hidesAggregator ? { as4Aggregator: aggregator } : {}),
  };
}

/** From a speaker of two-octet AS numbers: the true path and aggregator (RFC 6793 section 4.2.3). */
export function mergeAs4(values: AttributeValues): Pick<PathAttributes, 'asPath' | 'aggregator'> {
  const { asPath, as4Path, aggregator, as4Aggregator } = values;
  // An AGGREGATOR that is not AS_TRANS was set by a speaker that knew nothing of either AS4 attribute.
  const stale = aggregator !== undefined && aggregator.asn !== AS_TRANS;
  const truePath = asPath === undefined || as4Path === undefined || stale ? asPath : mergePaths(asPath, as4Path);
  const trueAggregator = aggregator === undefined || stale ? aggregator : (as4Aggregator ?? aggregator);
  return {
    ...(truePath === undefined ? {} : { asPath: truePath }),
    ...(trueAggregator === undefined ? {} : { aggregator: trueAggregator }),
  };
}

/** The leading AS numbers of AS_PATH that AS4_PATH lacks, then AS4_PATH; a longer AS4_PATH is ignored. */
function mergePaths(path: readonly AsPathSegment[], as4: readonly AsPathSegment[]): readonly AsPathSegment[] {
  let missing = asPathLength(path) - asPathLength(as4);
  if (missing < 0) return path;
  const merged: AsPathSegment[] = [];
  for (const { kind, asns } of path) {
    if (missing === 0) break;
    const leading = kind === 'AS_SET' ? asns : asns.slice(0, missing);
    merged.push({ kind, asns: leading });
    missing -= kind === 'AS_SET' ? 1 : leading.length;
  }
  return joinSequences([...merged, ...as4]);
}
