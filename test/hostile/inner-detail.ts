import { homedir, tmpdir } from 'node:os'

/** Stack frames, files, codes and names of what the server is made of. */
const INNER =
  /\n? {4}at |node_modules|node:|llhttp|undici|[Oo]pen[Ss][Ss][Ll]|\bHPE_|\bERR_|\bE[A-Z]{4,}\b|file:|\.[tj]s\b|\/snapshot|\/src\/|Error:|\[object|\bundefined\b/g
/** Header fields that name software, or let pages of other sites read. */
const HEADERS = /^(?:server|x-powered-by|x-aspnet-[\w-]+|via|access-control-[\w-]+):/im

/**
 * The part of an answer that shows something of the inside; undefined when there is none.
 *
 * @param request What an answer may repeat, because it came from there.
 * @param secrets Texts that no answer may show, wherever they came from.
 */
export function findInnerDetail(
  { head, body }: { readonly head: string; readonly body: string },
  request: string,
  secrets: readonly string[],
): string | undefined {
  const header = HEADERS.exec(head)?.[0]
  if (header !== undefined) return header
  const answer = `${head}\n${body}`
  for (const [found] of answer.matchAll(INNER)) if (!request.includes(found)) return found
  const places = [tmpdir(), homedir(), process.versions.node].filter((text) => !request.includes(text))
  return [...places, ...secrets].find((text) => answer.includes(text))
}
