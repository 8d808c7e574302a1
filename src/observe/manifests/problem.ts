import { formatProblem, type Problem } from '../../../net/result.ts';

/** What is wrong with one field of one document of one file. */
export interface ManifestProblem extends Problem {
  readonly file: string;
  /** From 1; 0 where the file as a whole is meant. */
  readonly line: number;
  /** Number of the document in its file, from 1; 0 where the file as a whole is meant. */
  readonly document: number;
  /** `ServiceRoute web/shop`; empty where the document does not say what it is. */
  readonly object: string;
}

export function fileProblem(file: string, message: string, fix: string): ManifestProblem {
  return { file, line: 0, document: 0, object: '', field: '', value: undefined, message, fix };
}

/** `web.yaml:12 (document 2): ServiceRoute web/shop: spec.rules[0].port: is missing; write a number` */
export function formatManifestProblem(problem: ManifestProblem): string {
  const place = problem.line > 0 ? `${problem.file}:${problem.line}` : problem.file;
  const document = problem.document > 1 ? ` (document ${problem.document})` : '';
  const object = problem.object === '' ? '' : `${problem.object}: `;
  return `${place}${document}: ${object}${formatProblem(problem)}`;
}
