import { homedir, tmpdir } from 'node:os'

/** Stack frames, file names, error codes and names of the server's components. */
const INNER =
  /\n? {4}at |node_modules|node:|llhttp|undici|[Oo]pen[Ss][Ss][Ll]|\bHPE_|\bERR_|\bE[A-Z]{4,}\b|file:|\.[tj]s\b|\/snapshot|\/src\/|Error:|\[object|\bundefined\b/g
const CONSOLE_FILE = /^HTTP\/1\.1 200 [\s\S]*^cross-origin-opener-policy:/im
/** Header fields that name software, or let pages of other sites read answers. */
const HEADERS = /^(?:server|x-powered-by|x-aspnet-[\w-]+|via|access-control-[\w-]+):/im

/**
 * The part of an answer that reveals internals; undefined if there is none.
 *
 * @param request An answer may repeat what is in it.
 * @param secrets Texts that no answer may show, even if the request holds them.
 */
export function findInnerDetail(
  { head, body }: { readonly head: string; readonly body: string },
  request: string,
  secrets: readonly string[],
): string | undefined {
  const header = HEADERS.exec(head)?.[0]
  if (header !== undefined) return header
  // The files of the console are the same for everybody.
  const answer = CONSOLE_FILE.test(head) ? head : `${head}\n${body}`
  for (const [found] of answer.matchAll(INNER)) if (!request.includes(found)) return found
  const places = [tmpdir(), homedir(), process.versions.node].filter((text) => !request.includes(text))
  return [...places, ...secrets].find((text) => answer.includes(text))
}
