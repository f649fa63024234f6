import { isExpected, isUnchanged, qualityOf } from '../http/header-fields.ts'
import { type Reply, type Request, textReply } from '../http/message.ts'
import { Problem } from '../http/problem.ts'
import type { Parameter } from '../openapi/operation.ts'
import { type ConsoleFile, readConsole } from './console-files.ts'
import { defineResource, type StartingParts } from './resource.ts'

const fileInPath: Parameter = {
  name: 'file',
  in: 'path',
  description: 'As the page names it; another name after each change of the file.',
  schema: { type: 'string', minLength: 1 },
}

const consoleHeaders = ['ETag', 'Vary', 'Content-Encoding?', 'Cross-Origin-Opener-Policy'] as const

/** The page for browsers, and its files. */
export const webConsole = defineResource({
  handlers: ({ basePath }: StartingParts) => consoleHandlers(basePath),
  routes: [
    {
      method: 'GET',
      path: '/console/',
      access: 'public',
      limits: 'same',
      absentBy: 'noConsole',
      isThereAtStart: true,
      summary: 'gets the console, a page for browsers',
      answers: '200 `text/html`; 308 without the slash',
      operation: {
        id: 'getConsole',
        tag: 'operation',
        notes: 'Absent with `--no-console`. The page holds no records: it is one more client of these calls.',
        isConditional: true,
        answers: {
          200: {
            description: 'The page.',
            headers: consoleHeaders,
            content: { 'text/html': { type: 'string' } },
          },
          308: { description: 'The path needs a slash at its end.', headers: ['Location'] },
        },
      },
      handler: 'readPage',
    },
    {
      method: 'GET',
      path: '/console/:file',
      access: 'public',
      limits: 'same',
      absentBy: 'noConsole',
      isThereAtStart: true,
      summary: 'gets the script or the style of the console, by the name that the page has for it',
      answers: '200; 404',
      operation: {
        id: 'getConsoleFile',
        tag: 'operation',
        parameters: [fileInPath],
        isConditional: true,
        answers: {
          200: {
            description: 'The file.',
            headers: consoleHeaders,
            content: { 'text/javascript': { type: 'string' }, 'text/css': { type: 'string' } },
          },
        },
        problems: ['unknown_path'],
      },
      handler: 'readFile',
    },
  ],
})

const PAGE = ''

/** In place of the policy of other answers: the page may run its own script, and call this server alone. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

/**
 * @param basePath Prefix of the URLs in answers.
 * @param readFiles Called at the first request, so that a server that nobody looks at spends nothing on them.
 */
export function consoleHandlers(basePath: string, readFiles = readConsole) {
  let files: ReadonlyMap<string, ConsoleFile> | undefined
  let reading: Promise<unknown> | undefined
  return { readPage, readFile }

  function readPage(request: Request): Reply | Promise<Reply> {
    // The references of the page are relative to the folder.
    return request.path.endsWith('/') ? readFile(request) : redirectToFolder(request)
  }

  function redirectToFolder({ query }: Request): Reply {
    return textReply(308, '', { Location: `${basePath}/console/${query && `?${query}`}` })
  }

  function readFile(request: Request): Reply | Promise<Reply> {
    // As it is sent: the name of a file is as fixed as the rest of its path. Of the folder it is PAGE.
    const name = request.path.slice(request.path.lastIndexOf('/') + 1)
    if (files !== undefined) return sendFile(request, files.get(name))
    reading ??= readFiles()
      .then((read) => {
        files = new Map(read.map((file) => [file.name, file]))
      })
      .finally(() => {
        reading = undefined
      })
    return reading.then(() => sendFile(request, files?.get(name)))
  }
}

/**
 * Sends browsers from the root of the server to the console.
 *
 * @returns Undefined for all other requests: for them, there is nothing at the root.
 */
export function consoleRedirect(basePath: string): (request: Request) => Reply | undefined {
  return ({ method, path, headers }) => {
    const isRoot = path === `${basePath}/` || path === basePath
    if (!isRoot || (method !== 'GET' && method !== 'HEAD')) return undefined
    // Only browsers name it: curl and libraries take anything.
    if (!qualityOf(headers.accept, 'text/html')) return undefined
    return textReply(303, '', { Location: `${basePath}/console/`, Vary: 'Accept' })
  }
}

function sendFile({ headers }: Request, file: ConsoleFile | undefined): Reply {
  if (file === undefined)
    throw new Problem('unknown_path', 'The console has no such file; after an upgrade, load the page again')
  const isGzip = takesGzip(headers['accept-encoding'])
  const [etag, body] = isGzip ? [file.gzipEtag, file.gzip] : [file.etag, file.bytes]
  if (!isExpected(headers['if-match'], etag))
    throw new Problem('stale_record', 'This is not what If-Match names; read it without that')
  // Also with 304: browsers replace what they have kept by these headers.
  const kept = {
    'Cache-Control': file.name === PAGE ? 'no-cache' : 'public, max-age=31536000, immutable',
    'Content-Security-Policy': POLICY,
    'Cross-Origin-Opener-Policy': 'same-origin',
    ETag: etag,
    Vary: 'Accept-Encoding',
  }
  if (isUnchanged(headers['if-none-match'], etag)) return { status: 304, headers: kept }
  const form: Record<string, string> = isGzip ? { 'Content-Encoding': 'gzip' } : {}
  return { status: 200, headers: { 'Content-Type': file.type, ...form, ...kept }, body }
}

function takesGzip(acceptEncoding: string | undefined): boolean {
  return (qualityOf(acceptEncoding, 'gzip') ?? qualityOf(acceptEncoding, '*') ?? 0) > 0
}
